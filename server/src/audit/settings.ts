/** A change of settings: the row before, and the columns that the update writes. */
export type SettingsChange = { before: object; columns: object }

type Values = Record<string, unknown>

/**
 * The settings that differ, as `before` and `after` of an event's `meta`, by their names in the API. The value of a secret is
 * `SECRET_CHANGED` on both sides. Empty if none differs.
 */
export function settingsMeta({ before, columns }: SettingsChange): { before?: Values; after?: Values } {
  const former: Values = {}
  const latter: Values = {}
  for (const [column, after] of Object.entries(columns)) {
    if (after === undefined || BOOKKEEPING.has(column) || !(column in before)) continue
    const previous = (before as Values)[column]
    if (isSame(previous, after)) continue
    const isSecret = SECRETS.has(column) || isBinary(previous) || isBinary(after)
    const name = attributeName(column)
    former[name] = isSecret ? SECRET_CHANGED : previous
    latter[name] = isSecret ? SECRET_CHANGED : after
  }
  return Object.keys(latter).length === 0 ? {} : { before: former, after: latter }
}

export const SECRET_CHANGED = '(changed)'

const BOOKKEEPING = new Set(['updated_at', 'version_id', 'engine_version_required'])
/** Columns whose text is a secret, or may contain one; encrypted columns are binary. */
const SECRETS = new Set(['password_hash', 'value', 'url', 'ca_certificates'])
/** Columns whose attribute has another name. */
const ATTRIBUTES: Readonly<Record<string, string>> = {
  is_site_admin: 'is-admin',
  is_global: 'global',
  sealed_value: 'value',
  project_id: 'project',
  agent_pool_id: 'agent-pool',
  default_agent_pool_id: 'default-agent-pool',
}

function attributeName(column: string) {
  return ATTRIBUTES[column] ?? column.replaceAll('_', '-')
}

function isBinary(value: unknown) {
  return value instanceof Uint8Array
}

/** Compares as JSON, in which the event stores both. */
function isSame(left: unknown, right: unknown) {
  return left === right || JSON.stringify(left) === JSON.stringify(right)
}
