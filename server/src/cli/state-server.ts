import { createHash } from 'node:crypto'
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fetch } from 'undici'
import type { StateSource, StateTarget, TransferredVersion } from './state-transfer.ts'

export type StateServerOptions = {
  /** The address of a server that speaks the public API, such as `https://app.terraform.io`. */
  url: string
  token: string
  organization: string
  /** For a target: the file that remembers which versions have arrived. */
  checkpointFile?: string | undefined
}

const PAGE = 100
const ATTEMPTS = 5

type Document = { data: any; meta?: { pagination?: { 'next-page': number | null } } } // documents of a server we don't know

/** States of an organization on a server, through the public API alone. */
export function stateServer(options: StateServerOptions): StateSource & StateTarget {
  const { organization } = options
  const base = options.url.replace(/\/+$/, '')

  async function send(method: string, url: string, init: { body?: string | Buffer; signed?: boolean } = {}) {
    const target = new URL(url, `${base}/`)
    // What a server hands out for another host is signed by itself: our token is none of its business.
    const isOurs = target.origin === new URL(base).origin && !init.signed
    for (let attempt = 1; ; attempt += 1) {
      const answer = await fetch(target, {
        method,
        headers: {
          ...(isOurs && { authorization: `Bearer ${options.token}` }),
          'content-type': init.signed ? 'application/octet-stream' : 'application/vnd.api+json',
        },
        ...(init.body !== undefined && { body: init.body }),
      }).catch((error: unknown) => {
        if (attempt >= ATTEMPTS)
          throw new Error(`${target.origin} can't be reached: ${String(error)}`, { cause: error })
        return undefined
      })
      const mayPass = answer === undefined || answer.status === 429 || answer.status >= 500
      if (!mayPass || attempt >= ATTEMPTS) {
        if (answer === undefined) throw new Error(`${target.origin} can't be reached`)
        return answer
      }
      await pause(1000 * Number(answer?.headers.get('x-ratelimit-reset') ?? 2 ** (attempt - 1)))
    }
  }

  async function api(method: string, path: string, body?: object): Promise<Document> {
    const answer = await send(method, `${base}/api/v2${path}`, body && { body: JSON.stringify(body) })
    const text = await answer.text()
    if (answer.status >= 400) throw new RefusedError(`${method} ${path}`, answer.status, text)
    return text === '' ? { data: undefined } : (JSON.parse(text) as Document)
  }

  async function all(path: string): Promise<any[]> {
    const found: any[] = []
    for (let page: number | null | undefined = 1; page;) {
      const document: Document = await api(
        'GET',
        `${path}${path.includes('?') ? '&' : '?'}page%5Bsize%5D=${PAGE}&page%5Bnumber%5D=${page}`,
      )
      found.push(...document.data)
      page = document.meta?.pagination?.['next-page']
    }
    return found
  }

  async function download(url: string | null) {
    if (url === null) return undefined
    const answer = await send('GET', url)
    if (answer.status === 404 || answer.status === 204) return undefined
    if (answer.status >= 400) throw new RefusedError('a download', answer.status, await answer.text())
    return Buffer.from(await answer.arrayBuffer())
  }

  return {
    async listWorkspaces() {
      return (await all(`/organizations/${organization}/workspaces`)).map((workspace) => workspace.attributes.name)
    },

    async listVersions(workspace) {
      const filter = `filter%5Borganization%5D%5Bname%5D=${organization}&filter%5Bworkspace%5D%5Bname%5D=${workspace}`
      const versions = await all(`/state-versions?${filter}&filter%5Bstatus%5D=finalized`)
      return versions.toReversed().map(({ id, attributes }) => ({
        id,
        serial: attributes.serial,
        createdAt: attributes['created-at'],
        size: attributes.size ?? 0,
        intermediate: attributes.intermediate ?? false,
        md5: '',
        lineage: null,
        hasJson: false,
      }))
    },

    async readContent(_, version) {
      // Signed URLs live for a day, a transfer may take longer: they are asked for when they are needed.
      const { attributes } = (await api('GET', `/state-versions/${version.id}`)).data
      const raw = await download(attributes['hosted-state-download-url'])
      if (raw === undefined) throw new Error(`the content of ${version.id} is gone`)
      return { raw, json: await download(attributes['hosted-json-state-download-url']) }
    },

    async prepare(workspace) {
      const found = await requireWorkspace(workspace)
      const lock = await send('POST', `${base}/api/v2/workspaces/${found.id}/actions/lock`, {
        body: JSON.stringify({ reason: 'import of states' }),
      })
      const text = await lock.text()
      // A transfer that was cut off left its own lock behind.
      const isOurs = lock.status === 409 && found.isLocked && (await isLockedByUs(found.id))
      if (lock.status >= 400 && !isOurs) throw new RefusedError(`the lock of ${workspace}`, lock.status, text)
      return {
        done: await arrived(options, workspace),
        release: async () => void (await api('POST', `/workspaces/${found.id}/actions/unlock`)),
      }
    },

    async write(workspace, version, content) {
      const found = await requireWorkspace(workspace)
      const { data } = await api('POST', `/workspaces/${found.id}/state-versions`, {
        data: {
          type: 'state-versions',
          attributes: {
            serial: version.serial,
            md5: version.md5,
            ...(version.lineage !== null && { lineage: version.lineage }),
            // A history may have gone backwards, or over to another lineage, in its time.
            force: true,
          },
        },
      })
      const { attributes } = data
      for (const [url, body] of [
        [attributes['hosted-state-upload-url'], content.raw],
        [attributes['hosted-json-state-upload-url'], content.json],
      ] as const) {
        if (typeof url !== 'string' || body === undefined) continue
        const answer = await send('PUT', url, { body, signed: true })
        if (answer.status >= 400) throw new RefusedError('an upload', answer.status, await answer.text())
      }
      await remember(options, workspace, version)
    },
  }

  async function requireWorkspace(name: string): Promise<{ id: string; isLocked: boolean }> {
    const path = `/organizations/${organization}/workspaces`
    try {
      const { data } = await api('GET', `${path}/${name}`)
      return { id: data.id, isLocked: data.attributes.locked }
    } catch (error) {
      if (!(error instanceof RefusedError) || error.status !== 404) throw error
      const { data } = await api('POST', path, { data: { type: 'workspaces', attributes: { name } } })
      return { id: data.id, isLocked: false }
    }
  }

  async function isLockedByUs(id: string) {
    const [account, workspace] = await Promise.all([api('GET', '/account/details'), api('GET', `/workspaces/${id}`)])
    return workspace.data.relationships?.['locked-by']?.data?.id === account.data.id
  }
}

/** A server said no; the message has its reason. */
export class RefusedError extends Error {
  status: number

  constructor(what: string, status: number, text: string) {
    super(`${what} was answered with ${status}: ${reason(text)}`)
    this.status = status
  }
}

function reason(text: string) {
  try {
    const { errors } = JSON.parse(text) as { errors: { title?: string; detail?: string }[] }
    return errors.map((error) => error.detail ?? error.title).join('; ')
  } catch {
    return text.slice(0, 200)
  }
}

export function md5Of(content: Buffer) {
  return createHash('md5').update(content).digest('hex')
}

async function arrived({ checkpointFile }: StateServerOptions, workspace: string) {
  const text = checkpointFile === undefined ? '' : await readFile(checkpointFile, 'utf8').catch(() => '')
  return new Set(
    text
      .split('\n')
      .filter((line) => line.startsWith(`${workspace} `))
      .map((line) => line.slice(workspace.length + 1)),
  )
}

async function remember({ checkpointFile }: StateServerOptions, workspace: string, version: TransferredVersion) {
  if (checkpointFile === undefined) return
  await mkdir(dirname(checkpointFile), { recursive: true })
  await appendFile(checkpointFile, `${workspace} ${version.id}\n`)
}
