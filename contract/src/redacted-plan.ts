import { isObject, isSameJson, isWideNumber } from './exact-json.ts'

type Fields = Record<string, unknown>
type Secrets = ReadonlySet<string>

/** Replaces a sensitive value of any type: the CLI would render null as an unset attribute and omit it. */
export const REDACTED = '(sensitive value)'
/** Replaces the value after a change, so that the two sides differ and the CLI renders a change. */
export const REDACTED_CHANGED = '(changed sensitive value)'

/** Shorter texts, such as `true` or `admin`, may be sensitive in one place and ordinary in another. */
const SECRET_LENGTH = 8

const SCHEMAS_OF_MODE: Record<string, string> = { managed: 'resource_schemas', data: 'data_source_schemas' }

/**
 * The response of `GET /plans/:id/json-output-redacted`, from which the CLI renders a remote plan: the output of
 * `terraform show -json <plan file>` and of `terraform providers schema -json`, without sensitive values and with only
 * the schemas that the plan uses.
 *
 * A value is sensitive when either side of the change marks it; a null stays, since it shows that nothing is set. Texts
 * and wide numbers that equal a sensitive one are hidden too, since providers copy values to attributes that they do not
 * mark. The CLI crashes on a resource without a schema. So if the provider has none, one is derived from the
 * values. Documents come from `parseExact` and the response goes to `printExact`, so that numbers keep their digits.
 */
export function redactedPlan(planJson: unknown, providerSchemas: unknown): Fields {
  const plan = record(planJson)
  const schemas = record(providerSchemas)
  const secrets = new Set(secretTexts(plan))
  const redactedResource = (resource: Fields): Fields => ({
    ...resource,
    change: redactedChange(record(resource.change), secrets),
  })
  const resourceChanges = records(plan.resource_changes).map(redactedResource)
  const resourceDrift = records(plan.resource_drift).map(redactedResource)
  const deferredChanges = records(plan.deferred_changes).map((deferred) => ({
    ...deferred,
    resource_change: redactedResource(record(deferred.resource_change)),
  }))
  const actions = records(plan.action_invocations).map(redactedAction)
  const outputs = Object.entries(record(plan.output_changes)).map(([name, change]) => [
    name,
    redactedChange(record(change), secrets),
  ])
  const resources = [
    ...resourceChanges,
    ...resourceDrift,
    ...deferredChanges.map((deferred) => deferred.resource_change),
  ]
  return {
    plan_format_version: plan.format_version ?? '1.2',
    provider_format_version: schemas.format_version ?? '1.0',
    resource_changes: resourceChanges,
    resource_drift: resourceDrift,
    output_changes: Object.fromEntries(outputs),
    relevant_attributes: records(plan.relevant_attributes),
    deferred_changes: deferredChanges,
    ...(actions.length > 0 && { action_invocations: actions }),
    provider_schemas: usedSchemas(resources, actions, record(schemas.provider_schemas)),
  }
}

function redactedChange(change: Fields, secrets: Secrets): Fields {
  const { before, after, before_sensitive: one, after_sensitive: other } = change
  const redacted = { ...change }
  if (before !== undefined) redacted.before = copiesHidden(masked(before, after, one, other, REDACTED), secrets)
  if (after !== undefined) redacted.after = copiesHidden(masked(after, before, one, other, REDACTED_CHANGED), secrets)
  return redacted
}

function redactedAction(action: Fields): Fields {
  const values = action.config_values
  if (values === undefined) return action
  return { ...action, config_values: masked(values, undefined, action.config_sensitive, undefined, REDACTED) }
}

/** The sensitive texts of all changes that are long enough to be distinctive. */
function* secretTexts(plan: Fields): Generator<string> {
  const resources = [
    ...records(plan.resource_changes),
    ...records(plan.resource_drift),
    ...records(plan.deferred_changes).map((deferred) => record(deferred.resource_change)),
  ]
  const changes = [...resources.map(({ change }) => change), ...Object.values(record(plan.output_changes))]
  for (const change of changes.map(record)) {
    yield* markedTexts(change.before, change.before_sensitive)
    yield* markedTexts(change.after, change.after_sensitive)
  }
}

function* markedTexts(value: unknown, mark: unknown): Generator<string> {
  const distinct = distinctText(value)
  if (distinct !== undefined) {
    if (mark === true && distinct.length >= SECRET_LENGTH) yield distinct
  } else if (isObject(value) && (mark === true || isObject(mark))) {
    for (const [key, item] of Object.entries(value)) yield* markedTexts(item, mark === true || field(mark, key))
  }
}

/** The text by which a value is recognised elsewhere; a wide number as the string that the engine would convert it to. */
function distinctText(value: unknown) {
  if (typeof value === 'string') return value
  return isWideNumber(value) ? value.digits : undefined
}

function copiesHidden(value: unknown, secrets: Secrets): unknown {
  if (secrets.size === 0) return value
  const distinct = distinctText(value)
  if (distinct !== undefined) {
    if (!secrets.has(distinct)) return value
    // The CLI crashes on a string in place of an unmarked number.
    return typeof value === 'string' ? REDACTED : null
  }
  if (Array.isArray(value)) return value.map((item) => copiesHidden(item, secrets))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copiesHidden(item, secrets)]))
}

/** `value` with its sensitive parts replaced, by `changed` where the other side differs. */
function masked(value: unknown, opposite: unknown, one: unknown, other: unknown, changed: string): unknown {
  if (value === null || value === undefined) return value
  if (one === true || other === true) {
    const isChange = opposite !== undefined && opposite !== null && !isSameJson(value, opposite)
    return isChange ? changed : REDACTED
  }
  if (!isObject(value) || (!isObject(one) && !isObject(other))) return value
  const part = (key: string, item: unknown) =>
    masked(item, field(opposite, key), field(one, key), field(other, key), changed)
  if (Array.isArray(value)) return value.map((item: unknown, index) => part(String(index), item))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, part(key, item)]))
}

function usedSchemas(resources: Fields[], actions: Fields[], schemas: Fields): Fields {
  const used = new Map<string, Map<string, Fields>>()
  const add = (item: Fields, kind: string, change: Fields) => {
    const [provider, type] = [text(item.provider_name), text(item.type)]
    const kinds = used.get(provider) ?? new Map<string, Fields>()
    used.set(provider, kinds)
    const known = field(field(field(schemas, provider), kind), type)
    const block = record(field(field(kinds.get(kind), type), 'block'))
    const schema = isObject(field(known, 'block')) ? known : derivedSchema(change, block)
    kinds.set(kind, { ...kinds.get(kind), ...Object.fromEntries([[type, schema]]) })
  }
  for (const resource of resources) {
    const kind = SCHEMAS_OF_MODE[text(resource.mode)]
    if (kind !== undefined) add(resource, kind, record(resource.change))
  }
  for (const action of actions) add(action, 'action_schemas', { after: action.config_values })
  return Object.fromEntries(
    [...used].map(([provider, kinds]) => [
      provider,
      { provider: field(field(schemas, provider), 'provider') ?? { version: 0 }, ...Object.fromEntries(kinds) },
    ]),
  )
}

/** Derives a schema from the values, which lets the CLI render them. Resources of one type share it. */
function derivedSchema(change: Fields, block: Fields) {
  const names = Object.keys({
    ...record(block.attributes),
    ...record(change.before),
    ...record(change.after),
    ...record(change.after_unknown),
  })
  const attributes = names.map((name) => [name, { type: 'dynamic', description_kind: 'plain', optional: true }])
  return { version: 0, block: { attributes: Object.fromEntries(attributes), description_kind: 'plain' } }
}

export function field(value: unknown, key: string): unknown {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

/** An object's fields; empty for anything else. */
export function record(value: unknown): Fields {
  return isObject(value) && !Array.isArray(value) ? value : {}
}

export function records(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(record) : []
}

function text(value: unknown) {
  return typeof value === 'string' ? value : ''
}
