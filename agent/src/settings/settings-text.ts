import { flagOf, type Setting, type Settings, variablesOf } from './setting.ts'

/** The settings as the help of a command lists them. */
export function settingsHelp(settings: Settings): string {
  const flags = Object.entries(settings).map(([name, { value = '<value>', isSwitch }]) =>
    isSwitch === true ? flagOf(name) : `${flagOf(name)} ${value}`,
  )
  const width = Math.max(...flags.map(({ length }) => length))
  const rows = Object.entries(settings).map(([name, setting], index) => {
    const { doc, foreign = [] } = setting
    const preset = presetOf(setting)
    const [variable] = variablesOf(name, setting)
    const text = `${doc}${preset === '' ? '' : ` (${preset})`}`.replaceAll('`', '')
    return `  ${flags[index]?.padEnd(width)} ${text}\n${' '.repeat(width + 3)}${[variable, ...foreign].join(', ')}\n`
  })
  return rows.join('')
}

/** The settings as a Markdown table, for docs/SETTINGS.md. */
export function settingsTable(settings: Settings): string {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const variables = [...variablesOf(name, setting), ...(setting.foreign ?? [])].map((variable) => `\`${variable}\``)
    return `| ${variables.join(', ')} | \`${flagOf(name)}\` | ${presetOf(setting)} | ${setting.doc} |\n`
  })
  return `| Variable | Flag | Default | What it is |\n|---|---|---|---|\n${rows.join('')}`
}

function presetOf({ shown, schema }: Setting): string {
  if (shown !== undefined) return shown
  const { data } = schema.safeParse(undefined)
  if (typeof data === 'boolean') return data ? 'on' : 'off'
  return (typeof data === 'number' || typeof data === 'string') && data !== '' ? `\`${data}\`` : ''
}
