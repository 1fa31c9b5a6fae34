def test_an_order_leaves(stock):
    stock.receive("pen", 5)
    stock.ship({"pen": 2})
    assert stock.number("pen") == 3


def test_of_several_items(stock):
    stock.receive("pen", 5)
    stock.receive("ink", 2)
    stock.ship({"pen": 1, "ink": 2})
    assert (stock.number("pen"), stock.number("ink")) == (4, 0)
