/** DuckDB, as others read what we write: the rows of a query as plain JSON. */
import { DuckDBInstance } from '@duckdb/node-api';

export async function duckdb(query: string): Promise<readonly Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    const reader = await connection.runAndReadAll(query);
    return reader.getRowObjectsJson() as Record<string, unknown>[];
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}
