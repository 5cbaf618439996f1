import { setTimeout as pause } from 'node:timers/promises'
import { errorObject } from '@groundstate/contract/responses'
import { fetch } from 'undici'
import { z } from 'zod'
import { failureReason } from '../outbound/failure.ts'

/** `url` is the base URL of a server with the public API, such as `https://app.terraform.io`. */
export type ServerAccess = {
  url: string
  token: string
  /** Ends the requests, and the pauses between their attempts. */
  signal?: AbortSignal
}

const PAGE = 100
const ATTEMPTS = 5

const document = z.object({ data: z.unknown() })
const list = z.object({
  data: z.array(z.unknown()),
  meta: z.object({ pagination: z.object({ 'next-page': z.int().nullable() }) }).optional(),
})

/** A client of the public API, which retries rate-limited and failed requests. Throws `RequestRejectedError` for statuses from 400. */
export function publicApi({ url, token, signal }: ServerAccess) {
  const base = new URL(url)
  const prefix = `${url.replace(/\/+$/, '')}/api/v2`
  let hasResponded = false

  async function send(method: string, address: string, body?: string | Buffer) {
    const target = new URL(address, base)
    // URLs of other hosts are signed and must not get our token.
    const isOurs = target.origin === base.origin
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetch(target, {
        method,
        headers: {
          ...(isOurs && { authorization: `Bearer ${token}` }),
          'content-type': typeof body === 'string' ? 'application/vnd.api+json' : 'application/octet-stream',
        },
        ...(body !== undefined && { body }),
        ...(signal && { signal }),
      }).catch((error: unknown) => {
        signal?.throwIfAborted()
        // If the server never responded, its address is probably wrong.
        if (hasResponded && attempt < ATTEMPTS) return undefined
        throw new Error(`${target.origin} can't be reached: ${failureReason(error)}`, { cause: error })
      })
      if (response) {
        hasResponded = true
        if (attempt >= ATTEMPTS || (response.status !== 429 && response.status < 500)) return response
        await response.text()
      }
      await pause(1000 * Number(response?.headers.get('x-ratelimit-reset') ?? 2 ** (attempt - 1)), undefined, {
        signal,
      })
    }
  }

  async function request(method: string, path: string, body?: object) {
    const response = await send(method, `${prefix}${path}`, body && JSON.stringify(body))
    const text = await response.text()
    if (response.status >= 400) throw new RequestRejectedError(`${method} ${path}`, response.status, text)
    try {
      return text === '' ? undefined : (JSON.parse(text) as unknown)
    } catch {
      throw new Error(`${base.origin} does not have the API: the response to ${method} ${path} is not JSON`)
    }
  }

  function read<T extends z.ZodType>(schema: T, value: unknown, path: string): z.infer<T> {
    const { data, error } = schema.safeParse(value)
    if (error) throw new Error(`the response of ${base.origin} to ${path} is invalid: ${z.prettifyError(error)}`)
    return data
  }

  return {
    request,

    async one<T extends z.ZodType>(schema: T, method: string, path: string, body?: object): Promise<z.infer<T>> {
      const { data } = read(document, await request(method, path, body), path)
      return read(schema, data, path)
    },

    async all<T extends z.ZodType>(schema: T, path: string): Promise<z.infer<T>[]> {
      const items: z.infer<T>[] = []
      for (let page: number | undefined = 1; page !== undefined;) {
        const query: string = `${path.includes('?') ? '&' : '?'}page%5Bsize%5D=${PAGE}&page%5Bnumber%5D=${page}`
        const response: z.infer<typeof list> = read(list, await request('GET', `${path}${query}`), path)
        for (const item of response.data) items.push(read(schema, item, path))
        page = response.meta?.pagination['next-page'] ?? undefined
      }
      return items
    },

    /** Undefined if the content does not exist. */
    async download(address: string) {
      const response = await send('GET', address)
      if (response.status === 404 || response.status === 204) return undefined
      if (response.status >= 400) throw new RequestRejectedError('a download', response.status, await response.text())
      return Buffer.from(await response.arrayBuffer())
    },

    async upload(address: string, content: Buffer) {
      const response = await send('PUT', address, content)
      const text = await response.text()
      if (response.status >= 400) throw new RequestRejectedError('an upload', response.status, text)
    },
  }
}

export class RequestRejectedError extends Error {
  status: number

  constructor(what: string, status: number, text: string) {
    super(`${what} failed with status ${status}: ${reason(text)}`)
    this.status = status
  }
}

const { title, detail } = errorObject.shape
const rejection = z.object({ errors: z.array(z.object({ title: title.optional(), detail: detail.optional() })) })

function reason(text: string) {
  try {
    const { errors } = rejection.parse(JSON.parse(text))
    return errors.map((error) => error.detail ?? error.title).join('; ')
  } catch {
    return text.slice(0, 200)
  }
}
