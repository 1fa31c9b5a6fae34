import assert from "node:assert";
import { test } from "node:test";
import { euros } from "../money.js";

test("whole sums", () => assert.equal(euros(1200), "12.00 €"));
