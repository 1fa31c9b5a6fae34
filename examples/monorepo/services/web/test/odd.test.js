import assert from "node:assert";
import { test } from "node:test";
import { euros } from "../money.js";

test("odd sums", () => assert.equal(euros(1234), "12.34 €"));
