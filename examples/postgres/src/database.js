import { readFile } from 'node:fs/promises';
import pg from 'pg';

// Where the database is stands in PGHOST, PGUSER and PGDATABASE: see boxer.yaml.
export async function connect() {
  const db = new pg.Client();
  await db.connect();
  return db;
}

// Runs migrations/NAME.sql, all of it or nothing.
export async function migrate(db, name) {
  const sql = await readFile(new URL(`../migrations/${name}.sql`, import.meta.url), 'utf8');
  await db.query(`BEGIN; ${sql} COMMIT`);
}

export async function count(db, table) {
  const { rows } = await db.query(`SELECT count(*)::int AS n FROM ${db.escapeIdentifier(table)}`);
  return rows[0].n;
}

export async function tables(db) {
  const { rows } = await db.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1");
  return rows.map((row) => row.tablename);
}
