import assert from "node:assert";
import { test } from "node:test";
import { euros } from "../money.js";

test("small sums", () => assert.equal(euros(5), "0.05 €"));
