import type { CreatePolicySetParameter, UpdatePolicySetParameter } from '@groundstate/contract/policy-sets'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import { type Page, rejectTakenName } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import { requirePolicySet } from '../policy-sets/access.ts'
import * as store from './store.ts'

export async function createParameter(ctx: Ctx, setId: string, input: CreatePolicySetParameter) {
  const set = await requirePolicySet(ctx, setId, 'policies:manage')
  const id = ctx.newId('var')
  const now = ctx.now()
  const sensitive = input.sensitive ?? false
  const row = {
    id,
    policy_set_id: setId,
    key: input.key,
    sensitive,
    ...storedValue(ctx, { id, sensitive, value: input.value ?? '' }),
    created_at: now,
    updated_at: now,
  }
  await rejectTakenKey(row.key, async () =>
    audited(ctx, parameterAudit(set, row, 'create'), async (ctx) => store.insertParameter(ctx.db, row)),
  )
  return row
}

function storedValue(ctx: Ctx, { id, sensitive, value }: { id: string; sensitive: boolean; value: string }) {
  return sensitive
    ? { value: null, sealed_value: ctx.secrets.seal(value, sealContext(id)) }
    : { value, sealed_value: null }
}

export const sealedParameter = sealedColumn(
  'policy_set_parameters.sealed_value',
  ['id'],
  ({ id }) => `policy-set-parameters/${id}/value`,
)

function sealContext(id: string) {
  return sealedParameter.context({ id })
}

async function rejectTakenKey<T>(key: string, work: () => Promise<T>) {
  const detail = `Key ${key} has already been taken`
  return rejectTakenName({ constraint: 'policy_set_parameters_key', attribute: 'key', detail }, work)
}

export async function listParameters(ctx: Ctx, setId: string, page: Page) {
  await requirePolicySet(ctx, setId, 'policies:read')
  return store.listParameters(ctx.db, setId, page)
}

export async function requireParameter(ctx: Ctx, setId: string, id: string) {
  await requirePolicySet(ctx, setId, 'policies:read')
  const row = await store.findParameter(ctx.db, setId, id)
  if (!row) throw notFound('parameter')
  return row
}

export type OpenParameter = { key: string; value: string; sensitive: boolean }

/** The parameters of sets in plain text, by set, for evaluations: OPA gets them as `data.parameters`. */
export async function openParameters(ctx: Pick<Ctx, 'db' | 'secrets'>, setIds: readonly string[]) {
  const rows = await store.listParametersOfSets(ctx.db, setIds)
  const parameters = rows.map((row) => {
    const sealed = row.sealed_value && ctx.secrets.openText(row.sealed_value, sealContext(row.id))
    return { setId: row.policy_set_id, key: row.key, value: sealed ?? row.value ?? '', sensitive: row.sensitive }
  })
  return Map.groupBy<string, OpenParameter & { setId: string }>(parameters, ({ setId }) => setId)
}

/** The parameters of a set as the work of an evaluation has them; none without a set. */
export async function parametersOf(ctx: Pick<Ctx, 'db' | 'secrets'>, setId: string | null) {
  const parameters = setId === null ? [] : ((await openParameters(ctx, [setId])).get(setId) ?? [])
  return evaluationParameters(parameters)
}

export function evaluationParameters(parameters: readonly OpenParameter[]) {
  return {
    parameters: Object.fromEntries(parameters.map(({ key, value }) => [key, value])),
    sensitiveParameters: parameters.filter(({ sensitive }) => sensitive).map(({ key }) => key),
  }
}

type Key = { setId: string; id: string }

export async function updateParameter(ctx: Ctx, { setId, id }: Key, input: UpdatePolicySetParameter) {
  const set = await requirePolicySet(ctx, setId, 'policies:manage')
  const before = await requireParameter(ctx, setId, id)
  const sensitive = input.sensitive ?? before.sensitive
  if (before.sensitive && !sensitive && typeof input.value !== 'string')
    throw invalid(
      'sensitive is false: a sensitive value is never shown, so send a new value',
      '/data/attributes/sensitive',
    )
  const value = typeof input.value === 'string' ? input.value : (before.value ?? undefined)
  const row = {
    ...before,
    key: input.key ?? before.key,
    sensitive,
    ...(value !== undefined && storedValue(ctx, { id, sensitive, value })),
    updated_at: ctx.now(),
  }
  const { id: _, policy_set_id: __, created_at: ___, ...changes } = row
  await rejectTakenKey(row.key, async () =>
    audited(ctx, parameterAudit(set, row, 'update', Object.keys(input)), async (ctx) =>
      store.updateParameter(ctx.db, id, changes),
    ),
  )
  return row
}

export async function deleteParameter(ctx: Ctx, { setId, id }: Key) {
  const set = await requirePolicySet(ctx, setId, 'policies:manage')
  const row = await requireParameter(ctx, setId, id)
  await audited(ctx, parameterAudit(set, row, 'destroy'), async (ctx) => store.deleteParameter(ctx.db, id))
}

type Owner = { id: string; organization_id: string }

/** `changes` are attribute names: values may be secret. */
function parameterAudit(set: Owner, row: { id: string; key: string }, action: string, changes?: string[]): AuditEvent {
  return {
    organizationId: set.organization_id,
    action,
    resource: { type: 'policy_set_parameter', id: row.id },
    meta: { policy_set: set.id, key: row.key, changes },
    notices: [{ type: 'policy-sets', id: set.id }],
  }
}
