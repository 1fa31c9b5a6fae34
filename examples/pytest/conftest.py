import pytest

from shop.stock import Stock


@pytest.fixture
def stock():
    Stock.remove_file()
    yield Stock()
    Stock.remove_file()
