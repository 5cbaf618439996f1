import { SETTINGS } from './config.ts'

/** The settings as a Markdown table, for docs/SETTINGS.md. */
export function settingsTable() {
  const rows = Object.entries(SETTINGS).map(([name, setting]) => {
    const preset = 'shown' in setting ? setting.shown : presetOf(setting.schema.safeParse(undefined))
    return `| \`GROUNDSTATE_${name}\` | ${preset} | ${setting.doc} |`
  })
  return `| Variable | Default | What it is |\n|---|---|---|\n${rows.join('\n')}\n`
}

function presetOf({ data }: { data?: unknown }) {
  if (typeof data === 'number' || typeof data === 'boolean') return `\`${data}\``
  return typeof data === 'string' && data !== '' ? `\`${data}\`` : ''
}
