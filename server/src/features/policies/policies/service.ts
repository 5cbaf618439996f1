import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { CreatePolicy, UpdatePolicy } from '@groundstate/contract/policies'
import type { Ctx } from '../../../app.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { type Page, rejectTakenName, transact } from '../../../db/db.ts'
import { invalid, notFound } from '../../../errors.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { policyAudit, requirePolicy } from './access.ts'
import * as store from './store.ts'

export async function createPolicy(ctx: Ctx, organizationName: string, input: CreatePolicy) {
  const organization = await requireOrganization(ctx, organizationName, 'policies:manage')
  // Without a kind, the public API means Sentinel, which has no query.
  if (input.query === undefined && input.kind === undefined)
    throw invalid(
      'kind is missing, which means sentinel (Sentinel is not supported by this server): it must be opa, with a query',
      '/data/attributes/kind',
    )
  if (input.query === undefined)
    throw invalid(
      "query can't be blank: it is what OPA evaluates, such as data.terraform.policies.deny",
      '/data/attributes/query',
    )
  const now = ctx.now()
  const row = {
    id: ctx.newId('pol'),
    organization_id: organization.id,
    name: input.name,
    description: input.description ?? '',
    query: input.query,
    enforcement_level: levelOf(input) ?? 'advisory',
    created_at: now,
    updated_at: now,
  }
  await rejectTakenName(taken(row.name), async () =>
    audited(ctx, policyAudit(row, 'create'), async (ctx) => store.insertPolicy(ctx.db, row)),
  )
  return requirePolicy(ctx, row.id, 'policies:read')
}

function taken(name: string) {
  return { constraint: 'policies_name_key', detail: `Name ${name} has already been taken` }
}

function levelOf({ enforce, 'enforcement-level': level }: UpdatePolicy) {
  const mode = enforce?.[0]?.mode
  if (level && mode && level !== mode)
    throw invalid(
      `enforce says ${mode}, but enforcement-level ${level}: send only one of them`,
      '/data/attributes/enforce',
    )
  return level ?? mode
}

type ListPolicies = { page: Page; search: string | undefined; kind: string | undefined }

export async function listPolicies(ctx: Ctx, organizationName: string, query: ListPolicies) {
  const organization = await requireOrganization(ctx, organizationName, 'policies:read')
  return store.listPolicies(ctx.db, organization.id, query)
}

export async function updatePolicy(ctx: Ctx, id: string, input: UpdatePolicy) {
  const policy = await requirePolicy(ctx, id, 'policies:manage')
  const changes = {
    description: input.description === undefined ? policy.description : (input.description ?? ''),
    query: input.query ?? policy.query,
    enforcement_level: levelOf(input) ?? policy.enforcement_level,
  }
  const event = { ...policyAudit(policy, 'update'), settings: { before: policy, columns: changes } }
  await audited(ctx, event, async (ctx) => store.updatePolicy(ctx.db, id, { ...changes, updated_at: ctx.now() }))
  return requirePolicy(ctx, id, 'policies:read')
}

export async function deletePolicy(ctx: Ctx, id: string) {
  const policy = await requirePolicy(ctx, id, 'policies:manage')
  await audited(ctx, policyAudit(policy, 'destroy'), async (ctx) => store.deletePolicy(ctx.db, id))
}

/** Replaces the code of a policy, which the caller has authorised. */
export async function uploadPolicy(ctx: Ctx, policy: store.PolicyRow, content: Readable) {
  const bytes = await buffer(content)
  if (bytes.length === 0) throw invalid('the code is empty: it must be Rego')
  if (!isUtf8(bytes)) throw invalid('the code is not valid UTF-8')
  if (bytes.includes(0)) throw invalid('the code contains a null byte')
  const digest = hash('sha256', bytes)
  await transact(ctx, async (ctx) => {
    const source = { id: policy.id, code: bytes.toString('utf8'), digest, now: ctx.now() }
    if (!(await store.putSource(ctx.db, source))) throw notFound('policy')
    await recordAudit(ctx, policyAudit(policy, 'upload', { digest }))
  })
}
