import pytest


def test_new_item(stock):
    stock.receive("pen", 3)
    assert stock.number("pen") == 3


def test_more_of_it(stock):
    stock.receive("pen", 3)
    stock.receive("pen", 4)
    assert stock.number("pen") == 7


@pytest.mark.parametrize("number", [0, -1])
def test_nothing(stock, number):
    with pytest.raises(ValueError):
        stock.receive("pen", number)
