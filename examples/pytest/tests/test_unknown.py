import pytest

from shop.stock import Short


def test_an_unknown_item_is_not_there(stock):
    assert stock.number("pen") == 0


def test_an_unknown_item_cannot_be_shipped(stock):
    with pytest.raises(Short):
        stock.ship({"pen": 1})
