import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AGENT_SETTINGS } from '../agent/src/settings/agent-settings.ts'
import { type Settings, settingsTable, variablesOf } from '../agent/src/settings/setting.ts'
import { SETTINGS } from '../server/src/settings.ts'

/** Names of the variables, which the chart compares with those in its values. */
export function settingNames() {
  const names = (settings: Settings) =>
    Object.entries(settings).flatMap(([name, setting]) =>
      variablesOf(name, setting).filter((variable) => variable.startsWith('GROUNDSTATE_')),
    )
  return { server: names(SETTINGS), agent: names(AGENT_SETTINGS) }
}

/** Writes the tables of settings into docs/SETTINGS.md, and their names into the chart. Tests check that they are up to date. */
async function writeSettings() {
  const tables = { server: settingsTable(SETTINGS), agent: settingsTable(AGENT_SETTINGS) }
  const page = join(import.meta.dirname, '../docs/SETTINGS.md')
  const text = await readFile(page, 'utf8')
  await writeFile(
    page,
    text.replaceAll(
      /(<!-- settings of the (server|agent):[^>]*-->\n)[\s\S]*?(<!-- \/settings -->)/g,
      (_, start: string, program: keyof typeof tables, end: string) => `${start}\n${tables[program]}\n${end}`,
    ),
  )
  const file = join(import.meta.dirname, '../deploy/chart/files/settings.json')
  await writeFile(file, `${JSON.stringify(settingNames(), undefined, 2)}\n`)
}

if (import.meta.main) await writeSettings()
