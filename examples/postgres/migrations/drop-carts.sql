-- Carts live in the browser now.
DROP TABLE carts;
