import { describe, expect, test } from 'vitest'
import { startReceiver } from '../server/src/testing/receiver.ts'
import { hasBrowser, openPage } from './browser.ts'
import { remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, until } from './run-progress.ts'
import { rawState, storeState } from './stored-states.ts'
import { hasTerraform } from './terraform.ts'
import { bootWebServer, createPerson, DESK, PASSWORD } from './web-page.ts'

/** A request that an action sends, with a body that changes nothing; of a GET, the body is a permission that the response must have. */
type Probe = readonly [method: string, path: string, body?: unknown]
const permission = (path: string, name: string): Probe => ['GET', path, name]

/** What a page shows: its heading, its controls with the reason why one is disabled, its fields and links. */
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
  const ORGANIZATION = '/organizations/main'

  // Everything that a member may be permitted to use.
  const project = await create(`${ORGANIZATION}/projects`, 'projects', { name: 'payments' })
  const inProject: Record<string, [string, string]> = { project: ['projects', project.id] }
  const ledger = await create(`${ORGANIZATION}/workspaces`, 'workspaces', { name: 'ledger' }, inProject)
  const other = await create(`${ORGANIZATION}/workspaces`, 'workspaces', { name: 'unrelated' })
  await create(`/workspaces/${ledger.id}/vars`, 'vars', { key: 'region', value: 'eu', category: 'terraform' })
  const outputs = { address: { value: 'db.example.com', type: 'string' } }
  const state = await storeState(server, ledger.id, rawState({ serial: 1, resources: [], outputs }))
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

  const W = `/workspaces/${ledger.id}`
  const P = `/projects/${project.id}`
  const createIn = (id: string): Probe => [
    'POST',
    `${ORGANIZATION}/workspaces`,
    { data: document('workspaces', { name: 'unrelated' }, { project: ['projects', id] }) },
  ]
  const named = (path: string, type: string, name: string, attributes = {}): Probe => [
    'POST',
    `${ORGANIZATION}/${path}`,
    { data: document(type, { name, ...attributes }) },
  ]
  const unchanged = (path: string, type: string, id: string): Probe => [
    'PATCH',
    path,
    { data: { id, type, attributes: {} } },
  ]
  const grant = (kind: 'workspace' | 'project', id: string): Probe => [
    'POST',
    `/team-${kind}s`,
    {
      data: document(`team-${kind}s`, { access: 'read' }, { team: ['teams', granted.id], [kind]: [`${kind}s`, id] }),
    },
  ]
  const defaultProject = (await api('GET', ORGANIZATION)).data.relationships['default-project'].data.id
  const trigger = (id: string): Probe => [
    'POST',
    `/workspaces/${id}/run-triggers`,
    { data: document('run-triggers', {}, { sourceable: ['workspaces', id] }) },
  ]

  /** Of the sidebar: what its page lists. */
  const NAVIGATION: Record<string, readonly Probe[]> = {
    Workspaces: [['GET', `${ORGANIZATION}/workspaces`]],
    Projects: [['GET', `${ORGANIZATION}/projects`]],
    'Variable sets': [['GET', `${ORGANIZATION}/varsets`]],
    'Run tasks': [['GET', `${ORGANIZATION}/tasks`]],
    Agents: [['GET', `${ORGANIZATION}/agent-pools`]],
    Members: [['GET', `${ORGANIZATION}/organization-memberships`]],
    Teams: [['GET', `${ORGANIZATION}/teams`]],
    'Audit trail': [['GET', `${ORGANIZATION}/audit-trail`]],
    Administration: [['GET', '/admin/users']],
  }
  /** Pages, the request that reads what they show, and their controls (`field:` and `link:` are others than buttons) with requests of which one must be accepted. */
  const PAGES: [path: string, read: Probe, controls: Record<string, readonly Probe[]>][] = [
    ['workspaces', ['GET', ORGANIZATION], { 'New workspace': [createIn(project.id), createIn(defaultProject)] }],
    ['projects', ['GET', ORGANIZATION], { 'New project': [named('projects', 'projects', 'payments')] }],
    ['variable-sets', ['GET', ORGANIZATION], { 'New variable set': [named('varsets', 'varsets', 'shared')] }],
    [
      'run-tasks',
      ['GET', ORGANIZATION],
      { 'New run task': [named('tasks', 'tasks', 'scanner', { url: 'http://127.0.0.1:9', category: 'task' })] },
    ],
    ['run-triggers', ['GET', ORGANIZATION], { 'New run trigger': [trigger(ledger.id), trigger(other.id)] }],
    ['agents', ['GET', ORGANIZATION], { 'New agent pool': [named('agent-pools', 'agent-pools', 'pool')] }],
    [
      'members',
      ['GET', `${ORGANIZATION}/organization-memberships`],
      {
        'Invite people': [
          [
            'POST',
            `${ORGANIZATION}/organization-memberships`,
            { data: document('organization-memberships', { email: 'admin@example.com' }) },
          ],
        ],
      },
    ],
    [
      'teams',
      ['GET', ORGANIZATION],
      { 'New team': [named('teams', 'teams', 'visible')], 'link:secret': [['GET', `/teams/${secret.id}`]] },
    ],
    ['audit-trail', ['GET', `${ORGANIZATION}/audit-trail`], { Export: [['GET', `${ORGANIZATION}/audit-trail`]] }],
    ['settings', ['GET', ORGANIZATION], { 'field:Email': [unchanged(ORGANIZATION, 'organizations', 'main')] }],
    [
      'settings/defaults',
      ['GET', ORGANIZATION],
      { 'field:Remote': [unchanged(ORGANIZATION, 'organizations', 'main')] },
    ],
    [
      'settings/tokens',
      ['GET', ORGANIZATION],
      { 'Create token: organization token': [permission(ORGANIZATION, 'can-update-api-token')] },
    ],
    [
      'settings/tags',
      ['GET', ORGANIZATION],
      {
        'Reserve key': [
          ['POST', `${ORGANIZATION}/reserved-tag-keys`, { data: document('reserved-tag-keys', { key: 'team' }) }],
        ],
      },
    ],
    [
      'workspaces/ledger',
      ['GET', W],
      {
        Lock: [['POST', `${W}/actions/lock`, {}]],
        'New run': [['POST', '/runs', { data: document('runs', {}, { workspace: ['workspaces', ledger.id] }) }]],
        'link:Runs': [['GET', `${W}/runs`]],
        'link:States': [['GET', `/state-versions/${state}`]],
        'link:Variables': [['GET', `${W}/vars`]],
        'Add description': [unchanged(W, 'workspaces', ledger.id)],
      },
    ],
    [
      'workspaces/ledger/variables',
      ['GET', W],
      {
        'Add variable': [['POST', `${W}/vars`, { data: document('vars', { key: 'region', category: 'terraform' }) }]],
      },
    ],
    [
      'workspaces/ledger/tasks',
      ['GET', W],
      {
        'Attach run task': [
          [
            'POST',
            `${W}/tasks`,
            {
              data: document(
                'workspace-tasks',
                { 'enforcement-level': 'advisory' },
                { task: ['tasks', 'task-missing'] },
              ),
            },
          ],
        ],
      },
    ],
    ['workspaces/ledger/settings/delete', ['GET', W], { 'Delete workspace': [permission(W, 'can-destroy')] }],
    ['settings/delete', ['GET', ORGANIZATION], { 'Delete organization': [permission(ORGANIZATION, 'can-destroy')] }],
    ['workspaces/ledger/triggers', ['GET', W], { 'Add source workspace': [trigger(ledger.id)] }],
    ['workspaces/ledger/access', ['GET', W], { 'Add team': [grant('workspace', ledger.id)] }],
    ['workspaces/ledger/settings', ['GET', W], { 'field:Name': [unchanged(W, 'workspaces', ledger.id)] }],
    ['workspaces/ledger/settings/tags', ['GET', W], { 'Add tag': [['PATCH', `${W}/tag-bindings`, { data: [] }]] }],
    [
      'workspaces/ledger/settings/execution',
      ['GET', W],
      { 'field:Working directory': [unchanged(W, 'workspaces', ledger.id)] },
    ],
    [`projects/${project.id}`, ['GET', P], { 'link:New workspace': [createIn(project.id)] }],
    [
      `projects/${project.id}?tab=variable-sets`,
      ['GET', P],
      {
        'link:New variable set': [
          [
            'POST',
            `${ORGANIZATION}/varsets`,
            {
              data: document('varsets', { name: 'of-payments', global: false }, { parent: ['projects', project.id] }),
            },
          ],
        ],
      },
    ],
    [`projects/${project.id}?tab=access`, ['GET', P], { 'Add team': [grant('project', project.id)] }],
    [
      `projects/${project.id}?tab=settings`,
      ['GET', P],
      {
        'field:Name': [unchanged(P, 'projects', project.id)],
        'Add tag': [['PATCH', `${P}/tag-bindings`, { data: [] }]],
      },
    ],
    ...[set, owned].flatMap(({ id }): typeof PAGES => [
      [
        `variable-sets/${id}?tab=settings`,
        ['GET', `/varsets/${id}`],
        { 'field:Name': [unchanged(`/varsets/${id}`, 'varsets', id)] },
      ],
    ]),
    [
      `agents/${pool.id}`,
      ['GET', `/agent-pools/${pool.id}`],
      { 'Start an agent': [['GET', `/agent-pools/${pool.id}/authentication-tokens`]] },
    ],
    [
      `agents/${pool.id}?tab=settings`,
      ['GET', `/agent-pools/${pool.id}`],
      {
        'field:Name': [unchanged(`/agent-pools/${pool.id}`, 'agent-pools', pool.id)],
        'Delete agent pool': [unchanged(`/agent-pools/${pool.id}`, 'agent-pools', pool.id)],
      },
    ],
    [
      `run-tasks/${task.id}?tab=settings`,
      ['GET', `/tasks/${task.id}`],
      {
        Enable: [unchanged(`/tasks/${task.id}`, 'tasks', task.id)],
        'Delete run task': [unchanged(`/tasks/${task.id}`, 'tasks', task.id)],
      },
    ],
    ...[team, secret].flatMap(({ id }): typeof PAGES => [
      [
        `teams/${id}`,
        ['GET', `/teams/${id}`],
        {
          'Add member': [
            ['POST', `/teams/${id}/relationships/users`, { data: [{ type: 'users', id: 'nobody-here' }] }],
          ],
        },
      ],
      [
        `teams/${id}?tab=permissions`,
        ['GET', `/teams/${id}`],
        {
          'field:Manage run tasks': [permission(`/teams/${id}`, 'can-update-organization-access')],
        },
      ],
      [
        `teams/${id}?tab=settings`,
        ['GET', `/teams/${id}`],
        {
          'field:Name': [
            [
              'PATCH',
              `/teams/${id}`,
              { data: { id, type: 'teams', attributes: { visibility: id === team.id ? 'organization' : 'secret' } } },
            ],
          ],
          'Delete team': [
            [
              'PATCH',
              `/teams/${id}`,
              { data: { id, type: 'teams', attributes: { visibility: id === team.id ? 'organization' : 'secret' } } },
            ],
          ],
        },
      ],
    ]),
  ]
  if (run !== undefined) {
    PAGES.push([
      `workspaces/deployments/runs/${run}`,
      ['GET', `/runs/${run}`],
      {
        'Confirm & apply': [permission(`/runs/${run}`, 'can-apply')],
        'Discard run': [permission(`/runs/${run}`, 'can-discard')],
      },
    ])
  }

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
        ...Object.values(NAVIGATION).flat(),
        ...PAGES.flatMap(([, read, controls]) => [read, ...Object.values(controls).flat()]),
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
      if (path.endsWith('/actions/lock') && response.ok) await api('POST', `${W}/actions/force-unlock`, {})
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
    const unseen = new Set<Probe[1]>()
    for (const [path, read, controls] of PAGES) {
      // One page of a hidden resource is enough.
      if (unseen.has(read[1])) continue
      const shown = await page.evaluate<Shown>(`(${VISIT})(${JSON.stringify(`/app/main/${path}`)})`)
      const isFound = !/not found/i.test(shown.title)
      if (path === 'workspaces')
        for (const [text, options] of Object.entries(NAVIGATION))
          compare(`navigation: ${text}`, shown.navigation.includes(text), options)
      compare(path, isFound, [read])
      if (!isFound && !isAccepted([read])) {
        unseen.add(read[1])
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

function document(type: string, attributes: object, related: Record<string, [string, string]> = {}) {
  const relationships = Object.fromEntries(
    Object.entries(related).map(([name, [kind, id]]) => [name, { data: { type: kind, id } }]),
  )
  return { type, attributes, relationships }
}

function perKey<T>(keys: readonly string[], prefix: string, member: (key: string) => Promise<T>) {
  return Object.fromEntries(keys.map((key) => [`${prefix} ${key}`, async () => member(key)]))
}
