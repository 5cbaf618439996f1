import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { type BlobDriver, SMALL_BYTES } from './driver.ts'
import { BlobExistsError, BlobNotFoundError } from './errors.ts'
import {
  type S3Config,
  S3Error,
  type S3Request,
  childrenOf,
  createS3Requests,
  parseResponse,
  textOf,
} from './s3-requests.ts'

/**
 * Larger content is uploaded in parts of this size. S3 requires at least 5 MB a part and at most 10,000 parts (160 GB).
 * A part takes up to three times its size in memory while it is sent.
 */
const PART_BYTES = 16 * 1024 * 1024

/** Identifies the put that wrote an object, to recognise our own after a response was lost. */
const PUT_ID = 'x-amz-meta-put-id'

/** Blobs as objects of a bucket, named by prefix and key. */
export function openS3Driver(config: S3Config): BlobDriver {
  const request = createS3Requests(config)

  const requireOk = async (sent: S3Request) => {
    const response = await request(sent)
    if (!response.ok) throw new S3Error(sent, response.status, await response.text())
    return response
  }

  /** Completes a conditional write. A refusal is ignored when an earlier attempt of the same put succeeded. */
  const commit = async (sent: S3Request, key: string, putId: string) => {
    const conditional = await request({ ...sent, headers: { ...sent.headers, 'if-none-match': '*' } })
    // Some stores answer 501 to the condition.
    const response = conditional.status === 501 ? await request(sent) : conditional
    const answer = await response.text()
    // CompleteMultipartUpload may send status 200 first and report a failure in the body.
    if (response.ok && parseResponse(answer)?.name !== 'Error') return
    const head = await request({ method: 'HEAD', key })
    if (head.ok && head.headers.get(PUT_ID) === putId) return
    if (head.ok) throw new BlobExistsError(key)
    throw new S3Error(sent, response.status, answer)
  }

  const writeParts = async (key: string, putId: string, parts: AsyncIterable<Buffer>) => {
    const begun = await requireOk({ method: 'POST', key, query: { uploads: '' }, headers: { [PUT_ID]: putId } })
    const uploadId = textOf(parseResponse(await begun.text()), 'UploadId') ?? ''
    try {
      const tags: string[] = []
      let size = 0
      for await (const body of parts) {
        const query = { partNumber: String(tags.length + 1), uploadId }
        const response = await requireOk({ method: 'PUT', key, query, body })
        tags.push(response.headers.get('etag') ?? '')
        size += body.length
      }
      const list = tags.map((tag, n) => `<Part><PartNumber>${n + 1}</PartNumber><ETag>${tag}</ETag></Part>`).join('')
      const body = Buffer.from(`<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`)
      await commit({ method: 'POST', key, query: { uploadId }, body }, key, putId)
      return size
    } catch (error) {
      await request({ method: 'DELETE', key, query: { uploadId } }).catch(() => {})
      throw error
    }
  }

  return {
    async write(key, sealed) {
      // Some stores ignore conditional writes; for them, this check keeps blobs write-once.
      if ((await request({ method: 'HEAD', key })).ok) throw new BlobExistsError(key)
      const putId = randomUUID()
      const parts = inParts(Buffer.isBuffer(sealed) ? [sealed] : sealed)
      const first = await parts.next()
      const body = first.value ?? Buffer.alloc(0)
      if (body.length === PART_BYTES) return writeParts(key, putId, prepend(body, parts))

      await commit({ method: 'PUT', key, headers: { [PUT_ID]: putId }, body }, key, putId)
      return body.length
    },

    async read(key) {
      const sent: S3Request = { method: 'GET', key }
      const response = await request(sent)
      if (response.status === 404) {
        await response.body?.cancel()
        throw new BlobNotFoundError(key)
      }
      if (!response.ok || !response.body) throw new S3Error(sent, response.status, await response.text())
      const size = Number(response.headers.get('content-length') ?? Number.POSITIVE_INFINITY)
      if (size <= SMALL_BYTES) return Buffer.from(await response.arrayBuffer())
      return Readable.fromWeb(response.body as ReadableStream<Uint8Array>)
    },

    async stat(key) {
      const sent: S3Request = { method: 'HEAD', key }
      const response = await request(sent)
      if (response.status === 404) return undefined
      if (!response.ok) throw new S3Error(sent, response.status, '')
      return {
        key,
        storedSize: Number(response.headers.get('content-length')),
        modifiedAt: new Date(response.headers.get('last-modified') ?? 0),
      }
    },

    async delete(key) {
      const sent: S3Request = { method: 'DELETE', key }
      const response = await request(sent)
      if (!response.ok && response.status !== 404) throw new S3Error(sent, response.status, await response.text())
    },

    async *list(prefix, cursor) {
      const root = config.prefix ?? ''
      let from: Record<string, string> = cursor === undefined ? {} : { 'start-after': root + cursor }
      for (;;) {
        const sent: S3Request = { method: 'GET', query: { 'list-type': '2', prefix: root + prefix, ...from } }
        const response = await requireOk(sent)
        const text = await response.text()
        const page = parseResponse(text)
        if (page?.name !== 'ListBucketResult') throw new S3Error(sent, response.status, text)
        const keys = childrenOf(page, 'Contents').map((object) => (textOf(object, 'Key') ?? '').slice(root.length))
        const last = keys.at(-1)
        if (last !== undefined) yield { keys, cursor: last }
        const token = textOf(page, 'NextContinuationToken')
        if (token === undefined) return
        from = { 'continuation-token': token }
      }
    },

    // Buckets hold any number of objects.
    settle: async () => 0,

    async [Symbol.asyncDispose]() {},
  }
}

/** Splits content into buffers of `PART_BYTES`; only the last may be smaller. */
async function* inParts(content: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  let part = Buffer.allocUnsafeSlow(SMALL_BYTES)
  let filled = 0
  for await (const chunk of content) {
    for (let offset = 0; offset < chunk.length;) {
      if (filled === part.length) part = grow(part)
      const copied = chunk.copy(part, filled, offset)
      offset += copied
      filled += copied
      if (filled < PART_BYTES) continue
      yield part
      part = Buffer.allocUnsafeSlow(PART_BYTES)
      filled = 0
    }
  }
  if (filled > 0) yield part.subarray(0, filled)
}

function grow(part: Buffer) {
  const bigger = Buffer.allocUnsafeSlow(Math.min(PART_BYTES, part.length * 4))
  part.copy(bigger)
  return bigger
}

async function* prepend(first: Buffer, rest: AsyncIterable<Buffer>) {
  yield first
  yield* rest
}
