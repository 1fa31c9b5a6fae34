from shop.stock import Stock


def test_the_stock_outlives_its_opener(stock):
    stock.receive("pen", 3)
    assert Stock().number("pen") == 3


def test_two_see_the_same(stock):
    other = Stock()
    stock.receive("pen", 3)
    other.receive("pen", 1)
    assert stock.number("pen") == 4
