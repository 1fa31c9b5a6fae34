def test_what_runs_out(stock):
    for name, number in [("pen", 9), ("ink", 1), ("cap", 2)]:
        stock.receive(name, number)
    assert stock.low(3) == ["cap", "ink"]


def test_nothing_runs_out(stock):
    stock.receive("pen", 9)
    assert stock.low(3) == []
