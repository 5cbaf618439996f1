import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AGENT_SETTINGS } from '../agent/src/settings/agent-settings.ts'
import { settingsTable } from '../agent/src/settings/setting.ts'
import { SETTINGS } from '../server/src/settings.ts'

/** Writes the tables of settings into docs/SETTINGS.md. A test checks that they are up to date. */
const TABLES = { server: settingsTable(SETTINGS), agent: settingsTable(AGENT_SETTINGS) }
const page = join(import.meta.dirname, '../docs/SETTINGS.md')
const text = await readFile(page, 'utf8')
await writeFile(
  page,
  text.replaceAll(
    /(<!-- settings of the (server|agent):[^>]*-->\n)[\s\S]*?(<!-- \/settings -->)/g,
    (_, start: string, program: keyof typeof TABLES, end: string) => `${start}\n${TABLES[program]}\n${end}`,
  ),
)
