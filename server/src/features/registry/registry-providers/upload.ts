import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { hashOf, throwUploadError } from '../../../blobs/archive.ts'
import { BlobNotFoundError } from '../../../blobs/errors.ts'
import { isDefinitelyRejected, transact } from '../../../db/db.ts'
import { AppError, conflict, invalid, notFound, tooLarge } from '../../../errors.ts'
import { asUploader } from '../../identity/tokens/uploader.ts'
import { checkSignature } from '../gpg-keys/public-key.ts'
import { findGpgKey } from '../gpg-keys/store.ts'
import { type Version, requireUploadVersion } from './access.ts'
import { checkListed, readChecksums } from './checksums.ts'
import { versionAudit } from './service.ts'
import * as store from './store.ts'
import { type FileKind, PACKAGE_PREFIX, openDownload, openUpload } from './urls.ts'

export const MAX_PACKAGE_BYTES = 1024 ** 3
export const MAX_SMALL_FILE_BYTES = 64 * 1024

/** The holder of an upload URL as the actor, who may have lost the permission since. */
async function requireUpload(anyone: Ctx, token: string, kinds: readonly FileKind[]) {
  const grant = openUpload(anyone, token)
  if (!grant || !kinds.includes(grant.kind)) throw notFound('upload')
  const platform = grant.kind === 'package' ? await store.findPlatform(anyone.db, grant.id) : undefined
  const versionId = grant.kind === 'package' ? platform?.registry_provider_version_id : grant.id
  const row = versionId === undefined ? undefined : await store.findVersion(anyone.db, versionId)
  if (!row) throw notFound('upload')
  const ctx = await asUploader(anyone, { by: grant.by, organizationId: row.provider.organization_id })
  return { ctx, kind: grant.kind, version: await requireUploadVersion(ctx, row.id), platform }
}

/**
 * Stores SHA256SUMS or its signature. As soon as both are there, the signature is verified with the key of the version, and neither changes
 * again. A file that is rejected is not stored.
 */
export async function uploadChecksums(anyone: Ctx, token: string, body: Readable) {
  const { ctx, kind, version } = await requireUpload(anyone, token, ['shasums', 'signature'])
  const content = await readSmall(body)
  if (kind === 'shasums') readChecksums(content)
  else if (content.length === 0) throw invalid('the signature is empty: it must be the output of gpg --detach-sign')
  await transact(ctx, async (ctx) => {
    const row = await store.lockVersion(ctx.db, version.id)
    if (!row) throw notFound('upload')
    const stored = kind === 'shasums' ? row.shasums : row.shasums_signature
    if (row.shasums && row.shasums_signature) {
      // A client that did not get the response sends the same file again.
      if (stored?.equals(content)) return
      throw conflict(`the version ${version.version} is signed: its files cannot change; publish another version`)
    }
    const files = { ...row, [kind === 'shasums' ? 'shasums' : 'shasums_signature']: content }
    if (kind === 'shasums') await checkPlatforms(ctx, version, content)
    if (files.shasums && files.shasums_signature)
      await checkSigned(ctx, version, { content: files.shasums, signature: files.shasums_signature })
    const change = kind === 'shasums' ? { shasums: content } : { shasums_signature: content }
    await store.updateFiles(ctx.db, version.id, { ...change, updated_at: ctx.now() })
    await recordAudit(ctx, versionAudit(version, 'upload', { file: FILE_NAMES[kind] }))
  })
}

const FILE_NAMES = { shasums: 'SHA256SUMS', signature: 'SHA256SUMS.sig', package: 'package' } as const

async function checkPlatforms(ctx: TransactionCtx, version: Version, content: Buffer) {
  const sums = readChecksums(content)
  for (const platform of await store.listPlatforms(ctx.db, [version.id])) checkListed(sums, platform)
}

async function checkSigned(ctx: Ctx, version: Version, { content, signature }: { content: Buffer; signature: Buffer }) {
  const key = await findGpgKey(ctx.db, version.provider.organization_id, version.key_id)
  if (!key)
    throw invalid(
      `${version.provider.organization_name} has no GPG key ${version.key_id}, the key of the version ${version.version}: add it first`,
    )
  await checkSignature({ armor: key.ascii_armor, content, signature, now: ctx.now() })
}

async function readSmall(body: Readable) {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    const bytes = chunk as Buffer
    size += bytes.length
    if (size > MAX_SMALL_FILE_BYTES) throw tooLarge(`the file is larger than ${MAX_SMALL_FILE_BYTES} bytes`)
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

/** Stores the archive of a platform if its SHA-256 is that of the platform; otherwise nothing. */
export async function uploadPackage(anyone: Ctx, token: string, body: Readable) {
  const { ctx, version, platform } = await requireUpload(anyone, token, ['package'])
  if (!platform) throw notFound('upload')
  const hash = createHash('sha256')
  if (platform.blob_key !== null) return checkRepeated(platform, await hashOf('sha256', body))
  const key = `${PACKAGE_PREFIX}${platform.id}/${ctx.newId('upload')}`
  const stored = await ctx.blobs
    .put(key, hashed(body, hash), { maxBytes: MAX_PACKAGE_BYTES, compress: false })
    .catch((error: unknown) => throwUploadError(error, `the archive is larger than ${MAX_PACKAGE_BYTES} bytes`))
  try {
    checkSum(platform, hash.digest('hex'))
    await checkZip(ctx, key, platform)
    const isFirst = await transact(ctx, async (ctx) => {
      // Permissions may have changed during a long upload.
      await requireUploadVersion(ctx, version.id)
      if (!(await store.setPackage(ctx.db, platform.id, { blob_key: key, size: stored.size }))) {
        if (!(await store.findPlatform(ctx.db, platform.id))) throw notFound('upload')
        return false
      }
      await recordAudit(ctx, versionAudit(version, 'upload', { file: platform.filename }))
      return true
    })
    if (!isFirst) await ctx.blobs.delete(key)
  } catch (error) {
    if (error instanceof AppError || isDefinitelyRejected(error)) await ctx.blobs.delete(key)
    throw error
  }
}

async function* hashed(body: Readable, hash: ReturnType<typeof createHash>) {
  for await (const chunk of body.iterator({ destroyOnReturn: false })) {
    hash.update(chunk as Buffer)
    yield chunk as Buffer
  }
}

function checkSum({ filename, shasum }: store.PlatformRow, sum: string) {
  if (sum !== shasum.toLowerCase())
    throw invalid(`the SHA-256 of the upload is ${sum}; the shasum of ${filename} is ${shasum}`)
}

function checkRepeated(platform: store.PlatformRow, sum: string) {
  if (sum !== platform.shasum.toLowerCase())
    throw conflict(`${platform.filename} is uploaded: a published archive cannot change; publish another version`)
}

async function checkZip(ctx: Ctx, key: string, { filename }: store.PlatformRow) {
  const content = await ctx.blobs.open(key)
  let start = Buffer.alloc(0)
  for await (const chunk of content) {
    start = Buffer.concat([start, (chunk as Buffer).subarray(0, 4)])
    if (start.length >= 4) break
  }
  content.destroy()
  if (!start.subarray(0, 4).equals(Buffer.from('PK\u0003\u0004')))
    throw invalid(`${filename} is not a zip archive: it must have the executable terraform-provider-…`)
}

/** The file of a download URL: its name, content and size in bytes. */
export async function openFile(ctx: Ctx, token: string, kinds: readonly FileKind[]) {
  const grant = openDownload(ctx, token)
  if (!grant || !kinds.includes(grant.kind)) throw notFound('download')
  if (grant.kind !== 'package') {
    const files = await store.findFiles(ctx.db, grant.id)
    const content = grant.kind === 'shasums' ? files?.shasums : files?.shasums_signature
    if (!content) throw notFound('download')
    return { content, size: content.length }
  }
  const platform = await store.findPlatform(ctx.db, grant.id)
  if (!platform || platform.blob_key === null) throw notFound('download')
  const content = await ctx.blobs.open(platform.blob_key).catch((error: unknown) => {
    if (error instanceof BlobNotFoundError) throw notFound('download')
    throw error
  })
  return { content, size: platform.size ?? undefined }
}
