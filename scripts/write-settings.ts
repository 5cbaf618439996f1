import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { settingsTable } from '../server/src/settings-table.ts'

/** Writes the table of settings into docs/SETTINGS.md; a test fails while it is outdated. */
const page = join(import.meta.dirname, '../docs/SETTINGS.md')
const text = await readFile(page, 'utf8')
await writeFile(
  page,
  text.replace(
    /(<!-- settings:[^>]*-->\n)[\s\S]*?(<!-- \/settings -->)/,
    (_, start: string, end: string) => `${start}\n${settingsTable()}\n${end}`,
  ),
)
