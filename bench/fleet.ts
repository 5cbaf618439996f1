import { setTimeout as pause } from 'node:timers/promises'
import { Pool } from 'undici'
import { CLIENTS } from './load.ts'
import type { Body } from './state-bodies.ts'
import type { ApiResponse, Target } from './target.ts'

export type Workspace = { id: string; name: string }

/** A client of the API with persistent connections, and an organization for its writes. */
export class Fleet implements AsyncDisposable {
  organization: string
  #made = 0
  #pool: Pool
  #headers: Record<string, string>

  private constructor(target: Target, organization: string) {
    this.organization = organization
    this.#pool = new Pool(target.baseUrl, { connections: CLIENTS })
    this.#headers = { authorization: `Bearer ${target.token}`, 'content-type': 'application/vnd.api+json' }
  }

  static async create(target: Target, organization: string) {
    const fleet = new Fleet(target, organization)
    await fleet.send('POST', '/organizations', {
      data: { type: 'organizations', attributes: { name: organization, email: 'bench@example.com' } },
    })
    return fleet
  }

  async createWorkspace(): Promise<Workspace> {
    this.#made += 1
    const name = `fleet-${this.#made}`
    const { data } = await this.send('POST', `/organizations/${this.organization}/workspaces`, {
      data: { type: 'workspaces', attributes: { name } },
    })
    return { id: data.id, name }
  }

  async lock({ id }: Workspace) {
    await this.send('POST', `/workspaces/${id}/actions/lock`, {})
  }

  async unlock({ id }: Workspace) {
    await this.send('POST', `/workspaces/${id}/actions/unlock`, {})
  }

  async createLocked(): Promise<Workspace> {
    const workspace = await this.createWorkspace()
    await this.lock(workspace)
    return workspace
  }

  /** Returns the next state of a series and the workspace of each client, which gets a new workspace after the last state. */
  async turns(series: readonly Body[], clients: number) {
    const turns = await Promise.all(
      Array.from({ length: clients }, async () => ({ at: 0, workspace: await this.createLocked() })),
    )
    return async (client: number) => {
      const turn = turns[client]
      if (!turn) throw new Error('unknown client')
      if (turn.at === series.length) Object.assign(turn, { at: 0, workspace: await this.createLocked() })
      const body = series[turn.at]
      if (!body) throw new Error('a series has no bodies')
      turn.at += 1
      return { workspace: turn.workspace, body }
    }
  }

  /** Creates a state version and returns it. */
  async post({ id }: Workspace, body: Buffer) {
    return (await this.send('POST', `/workspaces/${id}/state-versions`, body)).data
  }

  async upload(url: string, content: Buffer) {
    const response = await this.#pool.request({
      method: 'PUT',
      path: new URL(url).pathname,
      headers: { 'content-type': 'application/octet-stream' },
      body: content,
    })
    await response.body.dump()
    if (response.statusCode >= 400) throw new Error(`an upload failed with status ${response.statusCode}`)
  }

  async download(url: string) {
    const response = await this.#pool.request({ method: 'GET', path: new URL(url).pathname })
    let size = 0
    for await (const chunk of response.body) size += chunk.length
    if (response.statusCode >= 400 || size === 0)
      throw new Error(`a download failed with status ${response.statusCode}`)
  }

  /** Does not parse the response, which would take longer than the request for large states. */
  async read(path: string) {
    const response = await this.#pool.request({ method: 'GET', path: `/api/v2${path}`, headers: this.#headers })
    const size = Buffer.byteLength(await response.body.bytes())
    if (response.statusCode >= 400 || size === 0)
      throw new Error(`GET ${path} failed with status ${response.statusCode}`)
  }

  /** Waits until the background extraction of these versions is complete. */
  async untilProcessed(versionIds: Iterable<string>) {
    for (const id of versionIds) {
      for (;;) {
        const { data } = await this.send('GET', `/state-versions/${id}`)
        if (data.attributes['resources-processed']) break
        await pause(50)
      }
    }
  }

  async send(method: 'GET' | 'POST', path: string, body?: object | Buffer): Promise<ApiResponse> {
    const response = await this.#pool.request({
      method,
      path: `/api/v2${path}`,
      headers: this.#headers,
      ...(body !== undefined && { body: Buffer.isBuffer(body) ? body : JSON.stringify(body) }),
    })
    const text = await response.body.text()
    if (response.statusCode >= 400)
      throw new Error(`${method} ${path} failed with status ${response.statusCode}: ${text}`)
    return JSON.parse(text) as ApiResponse
  }

  async [Symbol.asyncDispose]() {
    await this.#pool.close()
  }
}
