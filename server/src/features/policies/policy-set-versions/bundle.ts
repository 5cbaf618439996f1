import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { Header } from 'tar'
import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import * as store from './store.ts'
import { POLICY_PREFIX } from './urls.ts'

export type EvaluationBundle = {
  /** Null for a set whose policies are attached. */
  versionId: string | null
  /** The commit of the version; null for an upload. */
  commit: { sha: string; url: string } | null
  /** SHA-256 of the content, in hex. */
  digest: string
  /** Directory of the policies in the archive; empty for the root. */
  policiesPath: string
  policies: readonly store.VersionPolicy[]
  /** The archive, a tar.gz. */
  open: () => Promise<Readable>
}

/** The policies of a set as they are evaluated now; the caller has authorised it. Throws `not-found` for a set that is gone or has no policies. */
export async function requireEvaluationBundle(ctx: Ctx, setId: string): Promise<EvaluationBundle> {
  const set = await store.findSet(ctx.db, setId)
  if (!set) throw notFound('policy set')
  if (!set.is_versioned) return attachedBundle(ctx, setId)
  if (set.current_version_id === null) throw notFound('policy set version')
  return requireVersionBundle(ctx, set.current_version_id)
}

/** As `requireEvaluationBundle`, of one version. */
export async function requireVersionBundle(ctx: Ctx, versionId: string): Promise<EvaluationBundle> {
  const [version] = await store.findVersions(ctx.db, [versionId])
  const key = version?.blob_key
  if (version?.status !== 'ready' || !key) throw notFound('policy set version')
  return {
    versionId,
    commit: version.commit_sha === null ? null : { sha: version.commit_sha, url: version.commit_url ?? '' },
    digest: version.digest ?? '',
    policiesPath: version.policies_path,
    policies: version.policies,
    open: async () => ctx.blobs.open(key),
  }
}

/** The archive of an earlier evaluation of attached policies, by its digest. */
export async function openBundle(ctx: Ctx, setId: string, digest: string) {
  const bundle = await store.findBundle(ctx.db, setId, digest)
  if (!bundle) throw notFound('policy bundle')
  return ctx.blobs.open(bundle.blob_key)
}

async function attachedBundle(ctx: Ctx, setId: string): Promise<EvaluationBundle> {
  const policies = await store.listAttachedPolicies(ctx.db, setId)
  if (policies.length === 0) throw notFound('policy of the set')
  const digest = hash('sha256', JSON.stringify(policies.map(({ id, digest }) => [id, digest])))
  const known = await store.findBundle(ctx.db, setId, digest)
  const key = known?.blob_key ?? (await putBundle(ctx, { setId, digest, policies }))
  const described = policies.map(({ name, query, enforcement_level, description }) => ({
    name,
    query,
    enforcement_level,
    description,
  }))
  const open = async () => ctx.blobs.open(key)
  return { versionId: null, commit: null, digest, policiesPath: '', policies: described, open }
}

type NewBundle = { setId: string; digest: string; policies: readonly store.AttachedPolicy[] }

async function putBundle(ctx: Ctx, { setId, digest, policies }: NewBundle) {
  const archive = gzipSync(tarOf(policies))
  const key = `${POLICY_PREFIX}${setId}/${ctx.newId('upload')}`
  const { size } = await ctx.blobs.put(key, Readable.from([archive]), { maxBytes: archive.length, compress: false })
  const row = { policy_set_id: setId, digest, blob_key: key, size, created_at: ctx.now() }
  if (await store.insertBundle(ctx.db, row)) return key
  // A concurrent evaluation was first.
  await ctx.blobs.delete(key)
  return (await store.findBundle(ctx.db, setId, digest))?.blob_key ?? key
}

const BLOCK = 512
/** Longer names do not fit into the header of an entry. */
const MAX_NAME = 90

function tarOf(policies: readonly store.AttachedPolicy[]) {
  const entries = policies.flatMap(({ id, name, code }) => {
    if (code === null) return []
    const content = Buffer.from(code)
    const header = new Header({
      path: `${name.length > MAX_NAME ? id : name}.rego`,
      type: 'File',
      mode: 0o644,
      size: content.length,
      mtime: new Date(0),
    })
    header.encode()
    return [header.block ?? Buffer.alloc(0), content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)]
  })
  return Buffer.concat([...entries, Buffer.alloc(2 * BLOCK)])
}
