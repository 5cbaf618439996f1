import type { CreateOpaVersion, UpdateOpaVersion } from '@groundstate/contract/opa-versions'
import type { Ctx } from '../../../app.ts'
import { type AuditEvent, audited } from '../../../audit/record.ts'
import { type Page, rejectTakenName } from '../../../db/db.ts'
import { conflict, invalid, notFound } from '../../../errors.ts'
import * as store from './store.ts'

const TAKEN = { constraint: 'opa_versions_version_key', attribute: 'version' }
const detailOf = (version: string) => `Version ${version} has already been taken`

export async function createOpaVersion(ctx: Ctx, input: CreateOpaVersion) {
  const archs = archsOf(input)
  if (!archs || archs.length === 0)
    throw invalid('archs is missing: the URL of at least one binary is needed', '/data/attributes/archs')
  const row = {
    id: ctx.newId('tool'),
    version: input.version,
    official: input.official ?? false,
    enabled: input.enabled ?? true,
    beta: input.beta ?? false,
    deprecated: input.deprecated ?? false,
    deprecated_reason: input['deprecated-reason'] || null,
    created_at: ctx.now(),
  }
  await rejectTakenName({ ...TAKEN, detail: detailOf(row.version) }, async () =>
    audited(ctx, versionAudit(row, 'create'), async (ctx) => {
      await store.insertOpaVersion(ctx.db, row)
      await store.replaceArchs(ctx.db, row.id, archs)
    }),
  )
  return readOpaVersion(ctx, row.id)
}

async function requireOpaVersion(ctx: Pick<Ctx, 'db'>, id: string) {
  const row = await store.findOpaVersion(ctx.db, id)
  if (!row) throw notFound('OPA version')
  return row
}

/** A version, and whether it is the `latest`. Throws `not-found`. */
export async function readOpaVersion(ctx: Pick<Ctx, 'db'>, id: string) {
  const row = await requireOpaVersion(ctx, id)
  return { ...row, isLatest: (await findToolVersion(ctx, 'latest'))?.id === id }
}

type List = { page: Page; version: string | undefined; search: string | undefined }

export async function listOpaVersions(ctx: Ctx, { page, ...filter }: List) {
  const { rows, total } = await store.listOpaVersions(ctx.db, filter, page)
  const latest = await findToolVersion(ctx, 'latest')
  return { total, rows: rows.map((row) => ({ ...row, isLatest: row.id === latest?.id })) }
}

/** Throws `invalid` unless policy sets may name the version: it is enabled, or `latest`. */
export async function checkToolVersion(ctx: Pick<Ctx, 'db'>, version: string) {
  if (version === 'latest') return
  const enabled = await store.listEnabledVersions(ctx.db)
  if (enabled.some((row) => row.version === version)) return
  const known = enabled.map((row) => row.version).toSorted(newestFirst)
  throw invalid(
    `policy-tool-version is ${JSON.stringify(version)}; it must be latest or an enabled version of OPA: ${known.join(', ') || 'a site administrator has enabled none'}`,
    '/data/attributes/policy-tool-version',
  )
}

/** The version that evaluates the policies of a set; undefined if it is no longer enabled. `latest` is the newest that is not beta or deprecated. */
export async function findToolVersion(ctx: Pick<Ctx, 'db'>, version: string) {
  const enabled = await store.listEnabledVersions(ctx.db)
  if (version !== 'latest') return enabled.find((row) => row.version === version)
  return enabled.filter(mayBeLatest).toSorted((a, b) => newestFirst(a.version, b.version))[0]
}

type Qualities = Pick<store.OpaVersionRow, 'version' | 'enabled' | 'beta' | 'deprecated'>

function mayBeLatest({ version, enabled, beta, deprecated }: Qualities) {
  return enabled && !beta && !deprecated && !version.includes('-')
}

/** Throws `conflict` if policy sets use `latest`, and no version would be the latest after the change. */
async function checkLatestRemains(ctx: Ctx, before: store.OpaVersionRow, after?: Qualities) {
  if (!mayBeLatest(before) || (after && mayBeLatest(after))) return
  const others = (await store.listEnabledVersions(ctx.db)).filter(({ id }) => id !== before.id)
  const usage = others.some(mayBeLatest) ? 0 : await store.countLatestUsers(ctx.db)
  if (usage > 0)
    throw conflict(
      `version ${before.version} is the only one that can be the latest, which ${usage} policy ${usage === 1 ? 'set uses' : 'sets use'}: add another one first`,
    )
}

/** Sorts versions of OPA. */
export function newestFirst(a: string, b: string) {
  return b.localeCompare(a, 'en', { numeric: true })
}

export async function updateOpaVersion(ctx: Ctx, id: string, input: UpdateOpaVersion) {
  const before = await requireOpaVersion(ctx, id)
  const version = input.version ?? before.version
  if (before.usage > 0 && (version !== before.version || input.enabled === false)) throw inUse(before)
  const archs = archsOf(input, before.archs)
  const changes = {
    version,
    official: input.official ?? before.official,
    enabled: input.enabled ?? before.enabled,
    beta: input.beta ?? before.beta,
    deprecated: input.deprecated ?? before.deprecated,
    deprecated_reason:
      input['deprecated-reason'] === undefined ? before.deprecated_reason : input['deprecated-reason'] || null,
  }
  await checkLatestRemains(ctx, before, changes)
  const event = { ...versionAudit(before, 'update'), settings: { before, columns: changes } }
  await rejectTakenName({ ...TAKEN, detail: detailOf(version) }, async () =>
    audited(ctx, event, async (ctx) => {
      await store.updateOpaVersion(ctx.db, id, changes)
      if (archs) await store.replaceArchs(ctx.db, id, archs)
    }),
  )
  return readOpaVersion(ctx, id)
}

export async function deleteOpaVersion(ctx: Ctx, id: string) {
  const row = await requireOpaVersion(ctx, id)
  if (row.usage > 0) throw inUse(row)
  await checkLatestRemains(ctx, row)
  await audited(ctx, versionAudit(row, 'destroy'), async (ctx) => store.deleteOpaVersion(ctx.db, id))
}

function inUse({ version, usage, users }: store.OpaVersionRow) {
  const named = users.map(({ organization, set }) => `${set} of ${organization}`)
  const others = usage > users.length ? ` and ${usage - users.length} others` : ''
  return conflict(
    `version ${version} is used by the policy sets ${named.join(', ')}${others}: give them another one first`,
  )
}

type Archs = store.OpaVersionRow['archs']

/**
 * The binaries after a change; undefined if it changes none. `url` and `sha` are those of Linux on amd64, unless `archs` has it; other binaries
 * than theirs are kept.
 */
function archsOf({ archs, url, sha }: UpdateOpaVersion, before: Archs = []): Archs | undefined {
  if (!archs && !url && !sha) return undefined
  const known = archs?.map((arch) => ({ ...arch, sha: arch.sha ?? null })) ?? before
  const byPlatform = new Map(known.map((arch) => [`${arch.os}/${arch.arch}`, arch]))
  const main = byPlatform.get(MAIN)
  if ((url || sha) && !(archs && main)) {
    const address = url || main?.url
    if (!address) throw invalid('url is missing: sha is the SHA-256 of the binary at url', '/data/attributes/url')
    byPlatform.set(MAIN, { os: 'linux', arch: 'amd64', url: address, sha: sha || (main?.sha ?? null) })
  }
  return [...byPlatform.values()]
}

const MAIN = 'linux/amd64'

function versionAudit({ id, version }: { id: string; version: string }, action: string): AuditEvent {
  return { organizationId: undefined, action, resource: { type: 'opa_version', id }, meta: { version }, notices: [] }
}
