/** A request that an action sends, with a body that changes nothing; of a GET, the body is a permission that the response must have. */
export type Probe = readonly [method: string, path: string, body?: unknown]
const permission = (path: string, name: string): Probe => ['GET', path, name]

type Subject = { id: string }
/** The resources to which members get permissions; `ledger` is a workspace of the project. */
type Subjects = Record<
  | 'project'
  | 'defaultProject'
  | 'ledger'
  | 'other'
  | 'state'
  | 'set'
  | 'owned'
  | 'task'
  | 'pool'
  | 'team'
  | 'secret'
  | 'granted',
  Subject
> & { run: string | undefined }

export const ORGANIZATION = '/organizations/main'

/** The links of the sidebar and the controls of pages, each with the requests of which the API must accept one. */
export function permittedActions(subjects: Subjects) {
  const { project, defaultProject, ledger, other, state, set, owned, task, pool, team, secret, granted, run } = subjects
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
  /** Without a URL it is refused. */
  const notification = (path: string): Probe => [
    'POST',
    `${path}/notification-configurations`,
    { data: document('notification-configurations', { name: 'probe', 'destination-type': 'generic' }) },
  ]
  const trigger = (id: string): Probe => [
    'POST',
    `/workspaces/${id}/run-triggers`,
    { data: document('run-triggers', {}, { sourceable: ['workspaces', id] }) },
  ]

  /** The lists on the pages of the sidebar, by their labels. */
  const NAVIGATION: Record<string, readonly Probe[]> = {
    Workspaces: [['GET', `${ORGANIZATION}/workspaces`]],
    Projects: [['GET', `${ORGANIZATION}/projects`]],
    'Variable sets': [['GET', `${ORGANIZATION}/varsets`]],
    Policies: [['GET', `${ORGANIZATION}/policy-sets`]],
    'Run tasks': [['GET', `${ORGANIZATION}/tasks`]],
    Registry: [['GET', `${ORGANIZATION}/registry-modules`]],
    Connections: [['GET', `${ORGANIZATION}/oauth-clients`]],
    Agents: [['GET', `${ORGANIZATION}/agent-pools`]],
    Members: [['GET', `${ORGANIZATION}/organization-memberships`]],
    Teams: [['GET', `${ORGANIZATION}/teams`]],
    'Audit trail': [['GET', `${ORGANIZATION}/audit-trail`]],
    Administration: [['GET', '/admin/users']],
  }
  /** Pages, the request that reads what they show, and their controls (`field:` and `link:` are others than buttons) with requests of which one must be accepted. */
  const PAGES: [path: string, read: Probe, controls: Record<string, readonly Probe[]>][] = [
    [
      'workspaces',
      ['GET', ORGANIZATION],
      {
        'New workspace': [createIn(project.id), createIn(defaultProject.id)],
        'Upload configuration': [
          createIn(project.id),
          createIn(defaultProject.id),
          ...[ledger, other].map(({ id }) => permission(`/workspaces/${id}`, 'can-queue-run')),
        ],
      },
    ],
    ['projects', ['GET', ORGANIZATION], { 'New project': [named('projects', 'projects', 'payments')] }],
    ['variable-sets', ['GET', ORGANIZATION], { 'New variable set': [named('varsets', 'varsets', 'shared')] }],
    [
      'run-tasks',
      ['GET', ORGANIZATION],
      { 'New run task': [named('tasks', 'tasks', 'scanner', { url: 'http://127.0.0.1:9', category: 'task' })] },
    ],
    [
      'policies',
      ['GET', `${ORGANIZATION}/policy-sets`],
      { 'New policy set': [named('policy-sets', 'policy-sets', 'security', { kind: 'opa' })] },
    ],
    ['run-triggers', ['GET', ORGANIZATION], { 'New run trigger': [trigger(ledger.id), trigger(other.id)] }],
    [
      'registry',
      ['GET', ORGANIZATION],
      { 'Publish module': [named('registry-modules', 'registry-modules', 'network', { provider: 'aws' })] },
    ],
    ['settings/gpg-keys', ['GET', ORGANIZATION], { 'Add GPG key': [permission(ORGANIZATION, 'can-create-provider')] }],
    [
      'connections',
      ['GET', ORGANIZATION],
      { 'link:New connection': [['POST', `${ORGANIZATION}/oauth-clients`, { data: document('oauth-clients', {}) }]] },
    ],
    [
      'settings/ssh-keys',
      ['GET', ORGANIZATION],
      { 'New SSH key': [['POST', `${ORGANIZATION}/ssh-keys`, { data: document('ssh-keys', {}) }]] },
    ],
    ['workspaces/ledger/deliveries', ['GET', `/workspaces/${ledger.id}/runs`], {}],
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
        'link:States': [['GET', `/state-versions/${state.id}`]],
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
    ['settings/delete', permission(ORGANIZATION, 'can-destroy'), {}],
    ['settings/quotas', permission(ORGANIZATION, 'can-view-usage'), {}],
    ['workspaces/ledger/triggers', ['GET', W], { 'Add source workspace': [trigger(ledger.id)] }],
    ['workspaces/ledger/access', ['GET', W], { 'Add team': [grant('workspace', ledger.id)] }],
    ['workspaces/ledger/settings', ['GET', W], { 'field:Name': [unchanged(W, 'workspaces', ledger.id)] }],
    ['workspaces/ledger/settings/policies', ['GET', `${W}/applied-policy-sets`], {}],
    ['workspaces/ledger/settings/tags', ['GET', W], { 'Add tag': [['PATCH', `${W}/tag-bindings`, { data: [] }]] }],
    ['workspaces/ledger/settings/notifications', ['GET', W], { 'New notification': [notification(W)] }],
    ['workspaces/ledger/settings', ['GET', W], { 'link:Workload identity': [['GET', `${W}/workload-identity`]] }],
    [
      'workspaces/ledger/settings/workload-identity',
      ['GET', W],
      { 'Preview token': [['GET', `${W}/workload-identity`]] },
    ],
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
    [`projects/${project.id}?tab=notifications`, ['GET', P], { 'New notification': [notification(P)] }],
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
        `teams/${id}?tab=notifications`,
        ['GET', `/teams/${id}`],
        { 'New notification': [notification(`/teams/${id}`)] },
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

  return { navigation: NAVIGATION, pages: PAGES }
}

export function document(type: string, attributes: object, related: Record<string, [string, string]> = {}) {
  const relationships = Object.fromEntries(
    Object.entries(related).map(([name, [kind, id]]) => [name, { data: { type: kind, id } }]),
  )
  return { type, attributes, relationships }
}
