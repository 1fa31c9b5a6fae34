import pytest

from shop.stock import Short


def test_too_much(stock):
    stock.receive("pen", 1)
    with pytest.raises(Short, match="pen"):
        stock.ship({"pen": 2})


def test_a_part_of_an_order_is_not_shipped(stock):
    stock.receive("pen", 5)
    with pytest.raises(Short, match="ink"):
        stock.ship({"pen": 1, "ink": 1})
    assert stock.number("pen") == 5
