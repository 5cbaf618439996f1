import { describe, expect, test } from 'vitest'
import { startReceiver } from '../server/src/testing/receiver.ts'
import { hasBrowser, openPage } from './browser.ts'
import { document, ORGANIZATION, permittedActions, type Probe } from './permitted-actions.ts'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, until } from './run-progress.ts'
import { rawState, storeState } from './stored-states.ts'
import { hasTerraform } from './terraform.ts'
import { bootWebServer, createPerson, DESK, PASSWORD } from './web-page.ts'

/** The heading, fields and links of a page, and its controls, with the reason if one is disabled. */
type Shown = {
  title: string
  controls: Record<string, string | null>
  fields: string[]
  navigation: string[]
  links: string[]
}

/** Runs in the browser: opens a path without loading the application again and waits until the page is complete. */
const VISIT = `async (path) => {
  const text = (element) => (element.getAttribute('aria-label') ?? element.textContent).trim()
  const all = (selector, from = document) => [...from.querySelectorAll(selector)]
  const pause = () => new Promise((resolve) => setTimeout(resolve, 25))
  const router = window.__TSR_ROUTER__
  const { href } = router.state.location
  if (path !== href) await router.navigate({ href: path })
  let before
  for (let still = 0, turns = 0; still < 2 && turns < 400; turns++) {
    await pause()
    const main = document.querySelector('main#content')?.innerHTML
    const isLoading =
      window.requestsInFlight > 0 || router.state.isLoading || main === undefined || main.includes('animate-pulse')
    still = !isLoading && main === before ? still + 1 : 0
    before = main
  }
  const main = document.querySelector('main#content')
  const controls = all('button', main).map((button) => [
    text(button),
    button.getAttribute('aria-disabled') === 'true' ? (button.dataset.tooltip ?? '') : null,
  ])
  return {
    title: document.querySelector('h1')?.textContent ?? '',
    controls: Object.fromEntries(controls),
    fields: all('input, textarea, select', main).flatMap((field) => [...field.labels].map(text)),
    navigation: all('nav[aria-label=Main] a').map(text),
    links: all('a', main).map(text),
  }
}`
/** Access to an organization that permits something on this server. */
const EFFECTIVE = [
  'manage-workspaces',
  'manage-projects',
  'manage-run-tasks',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'manage-agent-pools',
  'manage-vcs-settings',
  'manage-policy-overrides',
  'access-secret-teams',
  'read-workspaces',
  'read-projects',
]

const COUNT_REQUESTS = `(() => {
  const { fetch } = window
  window.requestsInFlight = 0
  window.fetch = (...request) => {
    window.requestsInFlight++
    return fetch(...request).finally(() => setTimeout(() => window.requestsInFlight--))
  }
})()`

describe.skipIf(!hasBrowser)('each member sees and can do what the API lets them', async () => {
  if (!hasBrowser) return
  const server = await bootWebServer()
  const { api } = server
  const create = async (
    path: string,
    type: string,
    attributes: object,
    related: Record<string, [string, string]> = {},
  ) => (await api('POST', path, { data: document(type, attributes, related) })).data

  // Everything that a member may be permitted to use.
  const project = await create(`${ORGANIZATION}/projects`, 'projects', { name: 'payments' })
  const inProject: Record<string, [string, string]> = { project: ['projects', project.id] }
  const ledger = await create(`${ORGANIZATION}/workspaces`, 'workspaces', { name: 'ledger' }, inProject)
  const other = await create(`${ORGANIZATION}/workspaces`, 'workspaces', { name: 'unrelated' })
  await create(`/workspaces/${ledger.id}/vars`, 'vars', { key: 'region', value: 'eu', category: 'terraform' })
  const outputs = { address: { value: 'db.example.com', type: 'string' } }
  const state = { id: await storeState(server, ledger.id, rawState({ serial: 1, resources: [], outputs })) }
  const defaultProject = (await api('GET', ORGANIZATION)).data.relationships['default-project'].data
  const set = await create(`${ORGANIZATION}/varsets`, 'varsets', { name: 'shared', global: false })
  const owned = await create(
    `${ORGANIZATION}/varsets`,
    'varsets',
    { name: 'of-payments', global: false },
    { parent: ['projects', project.id] },
  )
  const task = await create(`${ORGANIZATION}/tasks`, 'tasks', {
    name: 'scanner',
    url: (await startReceiver()).url,
    category: 'task',
    enabled: false,
  })
  const pool = await create(`${ORGANIZATION}/agent-pools`, 'agent-pools', { name: 'pool' })
  const team = await create(`${ORGANIZATION}/teams`, 'teams', { name: 'visible', visibility: 'organization' })
  const secret = await create(`${ORGANIZATION}/teams`, 'teams', { name: 'secret', visibility: 'secret' })
  const granted = await create(`${ORGANIZATION}/teams`, 'teams', { name: 'granted', visibility: 'organization' })
  for (const [kind, id] of [
    ['workspace', ledger.id],
    ['project', project.id],
  ] as const)
    await create(
      `/team-${kind}s`,
      `team-${kind}s`,
      { access: 'read' },
      { team: ['teams', granted.id], [kind]: [`${kind}s`, id] },
    )
  const deployments = hasTerraform
    ? await remoteWorkspace(server, { name: 'deployments', configuration: 'resource "terraform_data" "node" {}\n' })
    : undefined
  const run = deployments && (await startRun(server, deployments, { 'auto-apply': false }))
  if (run !== undefined) await until(async () => (await readRun(server, run)).attributes.actions['is-confirmable'])

  const people = { count: 0 }
  async function join(username: string, teamId: string) {
    await api('POST', `${ORGANIZATION}/organization-memberships`, {
      data: {
        type: 'organization-memberships',
        attributes: { email: `${username}@example.com` },
        relationships: { teams: { data: [{ type: 'teams', id: teamId }] } },
      },
    })
  }
  /** A member of one team with this access. */
  async function member(access: object, workspace?: object, onProject?: object) {
    const username = `member-${people.count++}`
    const person = await createPerson(server, username)
    const own = await create(`${ORGANIZATION}/teams`, 'teams', { name: username, 'organization-access': access })
    await join(username, own.id)
    const teamOf: Record<string, [string, string]> = { team: ['teams', own.id] }
    for (const id of workspace ? [ledger.id, ...(deployments ? [deployments.id] : [])] : [])
      await create('/team-workspaces', 'team-workspaces', workspace ?? {}, { ...teamOf, workspace: ['workspaces', id] })
    if (onProject) await create('/team-projects', 'team-projects', onProject, { ...teamOf, ...inProject })
    return person
  }
  const organizationAccess = (await api('GET', `/teams/${team.id}`)).data.attributes['organization-access'] as object
  const custom = { access: 'custom', runs: 'plan', 'state-versions': 'read-outputs', 'workspace-locking': true }
  const customProject = {
    access: 'custom',
    'project-access': { settings: 'update', teams: 'read', 'variable-sets': 'write' },
    'workspace-access': { runs: 'read', create: true, delete: true },
  }
  const MEMBERS: Record<string, () => Promise<{ username: string; token: string }>> = {
    'no access': async () => member({}),
    ...perKey(['read', 'plan', 'write', 'admin'], 'workspace', async (access) => member({}, { access })),
    'workspace custom': async () => member({}, custom),
    ...perKey(['read', 'write', 'maintain', 'admin'], 'project', async (access) => member({}, undefined, { access })),
    'project custom': async () => member({}, undefined, customProject),
    ...perKey(EFFECTIVE, 'organization', async (access) => member({ [access]: true })),
    'organization access without effect': async () =>
      member(
        Object.fromEntries(
          Object.keys(organizationAccess)
            .filter((access) => !EFFECTIVE.includes(access))
            .map((access) => [access, true]),
        ),
      ),
    owner: async () => {
      const person = await createPerson(server, 'second-owner')
      const { data: owners } = await api('GET', `${ORGANIZATION}/teams?filter[names]=owners`)
      await join(person.username, owners[0].id)
      return person
    },
    'site administrator': async () => {
      const person = await createPerson(server, 'site-admin')
      await api('PATCH', `/admin/users/${person.id}`, { 'is-admin': true })
      return person
    },
  }

  const { navigation, pages } = permittedActions({
    project,
    defaultProject,
    ledger,
    other,
    state,
    set,
    owned,
    task,
    pool,
    team,
    secret,
    granted,
    run,
  })

  const page = await openPage()
  await page.addInitScript(COUNT_REQUESTS)
  await page.setViewportSize(DESK)

  async function signInAs(username: string) {
    const response = await fetch(`${server.url}/api/v2/sessions`, {
      method: 'POST',
      headers: { 'content-type': 'application/vnd.api+json', origin: server.url },
      body: JSON.stringify({ data: { type: 'sessions', attributes: { username, password: PASSWORD } } }),
    })
    const [pair = ''] = (response.headers.get('set-cookie') ?? '').split(';')
    const [name = '', value = ''] = pair.split('=', 2)
    await page.context().clearCookies()
    await page.context().addCookies([{ name, value, url: server.url }])
  }

  /** The requests that the API accepts from the person, which are all sent once. */
  async function acceptedOf(token: string) {
    const probes = new Map(
      [
        ...Object.values(navigation).flat(),
        ...pages.flatMap(([, read, controls]) => [read, ...Object.values(controls).flat()]),
      ].map((probe) => [JSON.stringify(probe), probe]),
    )
    const accepted = new Set<string>()
    for (const [key, [method, path, body]] of probes) {
      const response = await fetch(`${server.url}/api/v2${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' },
        ...(method !== 'GET' && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      if (response.status >= 500) throw new Error(`${method} ${path} returned ${response.status}`)
      const isRefused = [401, 403, 404].includes(response.status) || /there is no (project|workspace) /.test(text)
      const isPermitted = typeof body !== 'string' || JSON.parse(text).data?.attributes.permissions[body] === true
      if (!isRefused && isPermitted) accepted.add(key)
      if (path.endsWith('/actions/lock') && response.ok)
        await api('POST', `/workspaces/${ledger.id}/actions/force-unlock`, {})
    }
    return (options: readonly Probe[]) => options.some((probe) => accepted.has(JSON.stringify(probe)))
  }

  test.for(Object.entries(MEMBERS))('%s', async ([, enter]) => {
    const person = await enter()
    const isAccepted = await acceptedOf(person.token)
    await signInAs(person.username)
    await page.goto(`${server.url}/app/main/workspaces`)
    const differences: string[] = []
    const compare = (where: string, isOffered: boolean, options: readonly Probe[]) => {
      if (isOffered === isAccepted(options)) return
      differences.push(
        `${where}: ${isOffered ? 'offered' : 'not offered'}, but the API ${isOffered ? 'refuses' : 'accepts'}`,
      )
    }
    const unseen = new Set<string>()
    for (const [path, read, controls] of pages) {
      // One page of a hidden resource is enough.
      if (unseen.has(read.join())) continue
      const shown = await page.evaluate<Shown>(`(${VISIT})(${JSON.stringify(`/app/main/${path}`)})`)
      const isFound = !/not found/i.test(shown.title)
      if (path === 'workspaces')
        for (const [text, options] of Object.entries(navigation))
          compare(`navigation: ${text}`, shown.navigation.includes(text), options)
      compare(path, isFound, [read])
      if (!isFound && !isAccepted([read])) {
        unseen.add(read.join())
        continue
      }
      for (const [name, options] of Object.entries(controls)) compare(`${path}: ${name}`, isShown(shown, name), options)
    }

    expect(differences).toEqual([])
  })
})

function isShown({ controls, fields, links }: Shown, name: string) {
  const [kind, text = ''] = name.split(':')
  if (kind === 'field') return fields.some((label) => label.startsWith(text))
  if (kind === 'link') return links.some((link) => link.startsWith(text))
  return controls[name] === null
}

function perKey<T>(keys: readonly string[], prefix: string, member: (key: string) => Promise<T>) {
  return Object.fromEntries(keys.map((key) => [`${prefix} ${key}`, async () => member(key)]))
}
