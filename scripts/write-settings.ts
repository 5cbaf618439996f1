import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { settingsTable } from '../server/src/settings-table.ts'

/** Writes the table of settings into the README; a test fails while it is not up to date. */
const readme = join(import.meta.dirname, '../README.md')
const text = await readFile(readme, 'utf8')
await writeFile(
  readme,
  text.replace(
    /(<!-- settings:[^>]*-->\n)[\s\S]*?(<!-- \/settings -->)/,
    (_, start: string, end: string) => `${start}\n${settingsTable()}\n${end}`,
  ),
)
