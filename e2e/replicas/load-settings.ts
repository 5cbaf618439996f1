import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { archiveOf } from '../../server/src/testing/archives.ts'
import type { Random } from '../../server/src/testing/random.ts'
import type { RemoteWorkspace } from '../remote-workspaces.ts'
import { ADMIN_TOKEN } from '../server.ts'
import { resource } from './client.ts'
import { ABSENT, type Fact, type Journal, reading, type Write, write } from './journal.ts'
import type { Site } from './site.ts'

const PACE_MS = 60

/** Ends a series of changes of an object: nobody knows whether the last one will still take effect. */
class Unknown extends Error {}

type Change = Omit<Write, 'url'> & { fact: string; read: Fact['read']; before: string; after: string }

/**
 * Makes a change and records the possible values. Throws `Unknown` without a response: a later change of the same object could be overtaken by
 * this one, if a suspended server or the network still holds it.
 */
async function change({ server: { url } }: Site, journal: Journal, { fact, read, before, after, ...rest }: Change) {
  const outcome = await write(journal, { ...rest, url })
  if (outcome.kind === 'acknowledged') {
    journal.facts.set(fact, { read, possible: [after] })
    return outcome.body?.data
  }
  journal.facts.set(fact, { read, possible: outcome.kind === 'refused' ? [before] : [before, after] })
  throw new Unknown()
}

/** `client` is its name and that of its module, `user` the id of its user. */
export type SettingsClient = { client: string; user: string }

/** Creates the module whose versions a client uploads. */
export async function createSettingsClient({ server }: Site, client: string): Promise<SettingsClient> {
  const { data } = await server.api('GET', '/account/details')
  const body = resource('registry-modules', { name: client, provider: 'null' })
  await server.api('POST', '/organizations/main/registry-modules', body)
  return { client, user: data.id }
}

/** Creates, changes and deletes workspaces, variables, tokens, run triggers, comments and versions of a module, until stopped. */
export async function writeSettings(
  site: Site,
  journal: Journal,
  { client, user, random, sources }: SettingsClient & { random: Random; sources: readonly RemoteWorkspace[] },
  stop: AbortSignal,
) {
  for (let number = 1; !stop.aborted; number += 1) {
    const name = `${client}-${number}`
    const series = [
      () => changeWorkspace(site, journal, { name, source: random.pick(sources as [RemoteWorkspace]) }),
      () => changeToken(site, journal, { name, user, isDeleted: random.oneIn(2) }),
      () => comment(site, journal, name),
      () => uploadModule(site, journal, { client, version: `1.0.${number}` }),
    ]
    for (const each of series) {
      if (stop.aborted) return
      await each().catch((error: unknown) => {
        if (!(error instanceof Unknown)) throw error
      })
      await pause(PACE_MS)
    }
  }
}

async function changeWorkspace(
  site: Site,
  journal: Journal,
  { name, source }: { name: string; source: RemoteWorkspace },
) {
  const byName = reading(`/organizations/main/workspaces/${name}`, ({ data }) => String(data.attributes.description))
  const fact = `workspace ${name}`
  const { id } = await change(site, journal, {
    kind: 'workspace',
    fact,
    read: byName,
    before: ABSENT,
    after: 'first',
    request: ['POST', '/organizations/main/workspaces'],
    body: resource('workspaces', { name, description: 'first' }),
  })
  journal.audits.push(`${id} create`)
  await change(site, journal, {
    kind: 'workspace update',
    fact,
    read: byName,
    before: 'first',
    after: 'second',
    request: ['PATCH', `/workspaces/${id}`],
    body: resource('workspaces', { description: 'second' }),
  })
  journal.audits.push(`${id} update`)

  for (const key of ['kept', 'deleted']) {
    const variable = await writeVariable(site, journal, { workspace: id, name, key })
    if (key !== 'deleted') continue
    const { request, ...rest } = variable
    await change(site, journal, { kind: 'variable deletion', ...rest, after: ABSENT, request: ['DELETE', request[1]] })
    journal.audits.push(`${variable.id} destroy`)
  }

  const trigger = await change(site, journal, {
    kind: 'run trigger',
    fact: `trigger of ${name}`,
    read: reading(`/workspaces/${id}/run-triggers?filter%5Brun-trigger%5D%5Btype%5D=inbound`, ({ data }) =>
      data.map((found: any) => found.relationships.sourceable.data.id).join(),
    ),
    before: '',
    after: source.id,
    request: ['POST', `/workspaces/${id}/run-triggers`],
    body: resource('run-triggers', {}, { sourceable: ['workspaces', source.id] }),
  })
  journal.audits.push(`${trigger.id} create`)
  if (!name.endsWith('3')) return
  for (const key of [...journal.facts.keys()].filter((found) => found.endsWith(` of ${name}`)))
    journal.facts.delete(key)
  await change(site, journal, {
    kind: 'workspace deletion',
    fact,
    read: byName,
    before: 'second',
    after: ABSENT,
    request: ['DELETE', `/workspaces/${id}`],
  })
  journal.audits.push(`${id} destroy`)
}

async function writeVariable(
  site: Site,
  journal: Journal,
  { workspace, name, key }: { workspace: string; name: string; key: string },
) {
  const path = `/workspaces/${workspace}/vars`
  const fact = `variable ${key} of ${name}`
  const read = reading(path, ({ data }) => {
    const found = data.find(({ attributes }: any) => attributes.key === key)
    return found ? found.attributes.value : ABSENT
  })
  const { id } = await change(site, journal, {
    kind: 'variable',
    fact,
    read,
    before: ABSENT,
    after: '1',
    request: ['POST', path],
    body: resource('vars', { key, value: '1', category: 'terraform' }),
  })
  journal.audits.push(`${id} create`)
  const request = ['PATCH', `${path}/${id}`] as const
  await change(site, journal, {
    kind: 'variable update',
    fact,
    read,
    before: '1',
    after: '2',
    request,
    body: resource('vars', { value: '2' }),
  })
  journal.audits.push(`${id} update`)
  return { id, fact, read, before: '2', request }
}

async function changeToken(
  site: Site,
  journal: Journal,
  { name, user, isDeleted }: { name: string; user: string; isDeleted: boolean },
) {
  const path = `/users/${user}/authentication-tokens`
  const fact = `token ${name}`
  const count = reading(`${path}?page%5Bsize%5D=100`, () => 'listed')
  const created = await change(site, journal, {
    kind: 'token',
    fact,
    read: count,
    before: 'listed',
    after: 'listed',
    request: ['POST', path],
    body: resource('authentication-tokens', { description: name }),
  })
  journal.audits.push(`${created.id} create`)
  const { token } = created.attributes
  const read = reading('/account/details', () => 'valid', { token })
  journal.facts.set(fact, { read, possible: ['valid'] })
  if (!isDeleted) return
  const request = ['DELETE', `/authentication-tokens/${created.id}`] as const
  await change(site, journal, { kind: 'token deletion', fact, read, before: 'valid', after: ABSENT, request })
  journal.audits.push(`${created.id} destroy`)
}

async function comment(site: Site, journal: Journal, text: string) {
  const run = [...journal.runs].at(-1)
  if (run === undefined) return
  const path = `/runs/${run}/comments`
  const { id } = await change(site, journal, {
    kind: 'comment',
    fact: `comment ${text}`,
    read: reading(`${path}?page%5Bsize%5D=100`, ({ data }) =>
      String(data.filter(({ attributes }: any) => attributes.body === text).length),
    ),
    before: '0',
    after: '1',
    request: ['POST', path],
    body: resource('comments', { body: text }),
  })
  journal.audits.push(`${id} create`)
}

async function uploadModule(site: Site, journal: Journal, { client, version }: { client: string; version: string }) {
  const archive = archiveOf({ 'main.tf': `output "version" {\n  value = "${version}"\n}\n` })
  const path = `/organizations/main/registry-modules/private/main/${client}/null/version?module_version=${version}`
  const read = reading(path, ({ data }) => data.attributes.status)
  const fact = `module ${client} ${version}`
  const created = await change(site, journal, {
    kind: 'module version',
    fact,
    read,
    before: ABSENT,
    after: 'pending',
    request: ['POST', `/registry-modules/main/${client}/null/versions`],
    body: resource('registry-module-versions', { version }),
  })
  journal.audits.push(`${created.id} create`)
  await change(site, journal, {
    kind: 'module upload',
    fact,
    read,
    before: 'pending',
    after: 'ok',
    request: ['PUT', created.links.upload],
    body: archive,
  })
  const md5 = createHash('md5').update(archive).digest('hex')
  journal.facts.set(`archive of ${fact}`, { possible: [md5], read: async (url) => archiveSum(url, client, version) })
}

/** The MD5 sum of a version as engines install it. */
async function archiveSum(url: string, client: string, version: string) {
  const found = await fetch(`${url}/api/registry/v1/modules/main/${client}/null/${version}/download`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  })
  const response = await fetch(new URL(found.headers.get('x-terraform-get') ?? '', url))
  return response.ok
    ? createHash('md5')
        .update(Buffer.from(await response.arrayBuffer()))
        .digest('hex')
    : `status ${response.status}`
}
