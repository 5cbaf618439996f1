import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { startReceiver } from '../testing/receiver.ts'
import { addWorkspace, createRunSetting } from '../testing/runs.ts'

/**
 * The bodies that the public API's Go client and the Terraform provider send, byte for byte: attributes in alphabetical
 * order, every relationship that is not omitted when it is empty, and a line feed at the end.
 */

const app = await createTestApp()
const setting = await createRunSetting(app)
const { user, organization } = setting
const receiver = await startReceiver()
const other = await addWorkspace(app, { user, organization })

async function send(method: 'POST' | 'PATCH' | 'DELETE', path: string, body: string) {
  const headers = { 'content-type': 'application/vnd.api+json' }
  return app.request({ method, url: `/api/v2/${path}`, token: user.token, body: body && `${body}\n`, headers })
}

async function create(path: string, body: string): Promise<string> {
  const response = await send('POST', path, body)
  expect([path, response.status, response.status < 300 || response.text]).toEqual([path, 201, true])
  return response.json().data.id
}

const ids = {
  organization,
  workspace: setting.workspaceId,
  other: other.workspaceId,
  otherName: other.workspaceName,
  version: setting.configurationVersionId,
  project: await create(
    `organizations/${organization}/projects`,
    '{"data":{"type":"projects","attributes":{"auto-destroy-activity-duration":"14d","description":"ours","name":"go"},"relationships":{"tag-bindings":{"data":[{"type":"tag-bindings","attributes":{"key":"team","value":"core"}}]}}}}',
  ),
  pool: await create(
    `organizations/${organization}/agent-pools`,
    '{"data":{"type":"agent-pools","attributes":{"name":"go","organization-scoped":true}}}',
  ),
  set: await create(
    `organizations/${organization}/varsets`,
    '{"data":{"type":"varsets","attributes":{"description":"","global":false,"name":"go","priority":false},"relationships":{"parent":{"data":null}}}}',
  ),
  variable: await create(
    `workspaces/${setting.workspaceId}/vars`,
    '{"data":{"type":"vars","attributes":{"category":"terraform","description":"","hcl":false,"key":"1st","sensitive":false,"value":""}}}',
  ),
  task: await create(
    `organizations/${organization}/tasks`,
    `{"data":{"type":"tasks","attributes":{"category":"task","description":null,"enabled":true,"global-configuration":{"enabled":false},"name":"go","url":"${receiver.url}"}}}`,
  ),
  team: await create(
    `organizations/${organization}/teams`,
    '{"data":{"type":"teams","attributes":{"name":"go","organization-access":{"manage-policies":false,"manage-workspaces":true}}}}',
  ),
  username: user.username,
}

const setVariable = await create(
  `varsets/${ids.set}/relationships/vars`,
  '{"data":{"type":"vars","attributes":{"category":"env","key":"2nd","value":"x"}}}',
)
const workspaceTask = await create(
  `workspaces/${ids.workspace}/tasks`,
  `{"data":{"type":"workspace-tasks","attributes":{"enforcement-level":"advisory","stages":["post_plan","pre_plan"]},"relationships":{"task":{"data":{"type":"tasks","id":"${ids.task}"}}}}}`,
)
const teamWorkspace = await create(
  'team-workspaces',
  `{"data":{"type":"team-workspaces","attributes":{"access":"custom","policy-overrides":false,"run-tasks":false,"runs":"apply","sentinel-mocks":"none","state-versions":"read-outputs","variables":"none","workspace-locking":true},"relationships":{"team":{"data":{"type":"teams","id":"${ids.team}"}},"workspace":{"data":{"type":"workspaces","id":"${ids.workspace}"}}}}}`,
)
const secondTeam = await create(
  `organizations/${organization}/teams`,
  '{"data":{"attributes":{"name":"provider"},"type":"teams"}}',
)
const teamProject = await create(
  'team-projects',
  `{"data":{"type":"team-projects","attributes":{"access":"custom","project-access":{"settings":"read","teams":"none"},"workspace-access":{"create":false,"delete":false,"locking":true,"move":false,"run-tasks":false,"runs":"plan","sentinel-mocks":"none","state-versions":"none","variables":"none"}},"relationships":{"project":{"data":{"type":"projects","id":"${ids.project}"}},"team":{"data":{"type":"teams","id":"${ids.team}"}}}}}`,
)
const membership = await create(
  `organizations/${organization}/organization-memberships`,
  `{"data":{"type":"organization-memberships","attributes":{"email":"go@example.com"},"relationships":{"teams":{"data":[{"type":"teams","id":"${ids.team}"}]}}}}`,
)
const run = await create(
  'runs',
  `{"data":{"type":"runs","attributes":{"message":"without a configuration version"},"relationships":{"configuration-version":{"data":null},"workspace":{"data":{"type":"workspaces","id":"${ids.workspace}"}}}}}`,
)

/** A workspace in a client's list: every attribute and relationship is present and empty. */
const whole = `{"type":"workspaces","id":"${ids.other}","attributes":{"actions":null,"agent-pool-id":"","auto-apply":false,"name":"","permissions":null,"setting-overwrites":null,"tag-names":null,"trigger-prefixes":null,"vcs-repo":null},"relationships":{"agent-pool":{"data":null},"current-run":{"data":null},"outputs":{"data":[]},"project":{"data":null},"tags":{"data":[]}}}`
const state = Buffer.from(JSON.stringify({ version: 4, serial: 1, lineage: 'go', outputs: {}, resources: [] }))
const md5 = createHash('md5').update(state).digest('hex')

type Row = [status: number, method: 'POST' | 'PATCH' | 'DELETE', path: string, body: string]
const ROWS: Row[] = [
  // Organizations
  [
    201,
    'POST',
    'organizations',
    '{"data":{"type":"organizations","attributes":{"default-execution-mode":"remote","email":"go@example.com","enforce-hyok":false,"name":"go-organization","session-remember":20160,"session-timeout":20160,"stacks-enabled":false,"user-tokens-enabled":true}}}',
  ],
  [
    200,
    'PATCH',
    `organizations/${organization}`,
    '{"data":{"type":"organizations","attributes":{"aggregated-commit-status-enabled":false,"assessments-enforced":false,"collaborator-auth-policy":"password","cost-estimation-enabled":true}}}',
  ],
  [
    200,
    'PATCH',
    `organizations/${organization}`,
    '{"data":{"type":"organizations","attributes":{"default-execution-mode":"remote"},"relationships":{"default-agent-pool":{"data":null}}}}',
  ],
  // Projects
  [
    200,
    'PATCH',
    `projects/${ids.project}`,
    '{"data":{"type":"projects","attributes":{"auto-destroy-activity-duration":null,"name":"go-renamed"}}}',
  ],
  [
    200,
    'PATCH',
    `projects/${ids.project}`,
    `{"data":{"type":"projects","attributes":{"default-agent-pool-id":"${ids.pool}","default-execution-mode":"agent","setting-overwrites":{"default-agent-pool":true,"default-execution-mode":true}}}}`,
  ],
  [
    200,
    'PATCH',
    `projects/${ids.project}/tag-bindings`,
    '{"data":[{"type":"tag-bindings","attributes":{"key":"tier","value":"gold"}},{"type":"tag-bindings","attributes":{"key":"bare"}}]}',
  ],
  // Workspaces
  [
    201,
    'POST',
    `organizations/${organization}/workspaces`,
    `{"data":{"type":"workspaces","attributes":{"allow-destroy-plan":true,"assessments-enabled":false,"auto-apply":true,"auto-destroy-activity-duration":"14d","description":"","execution-mode":"remote","file-triggers-enabled":true,"inherits-project-auto-destroy":false,"name":"go","queue-all-runs":true,"setting-overwrites":{"agent-pool":false,"execution-mode":false},"source-name":"my-app","source-url":"http://my-app-hostname.io","speculative-enabled":true,"structured-run-output-enabled":true,"terraform-version":"1.11.4","trigger-prefixes":["/modules","/shared"],"working-directory":"bar/"},"relationships":{"project":{"data":{"type":"projects","id":"${ids.project}"}},"tag-bindings":{"data":[{"type":"tag-bindings","attributes":{"key":"a","value":"b"}}]},"tags":{"data":[{"type":"tags","attributes":{"name":"tag1"}}]}}}}`,
  ],
  [
    201,
    'POST',
    `organizations/${organization}/workspaces`,
    `{"data":{"type":"workspaces","attributes":{"execution-mode":"agent","name":"provider","setting-overwrites":{"agent-pool":true,"execution-mode":true},"working-directory":""},"relationships":{"agent-pool":{"data":{"id":"${ids.pool}","type":"agent-pools"}},"project":{"data":{"id":"${ids.project}"}}}}}`,
  ],
  [
    200,
    'PATCH',
    `organizations/${organization}/workspaces/${ids.otherName}`,
    '{"data":{"type":"workspaces","attributes":{"auto-destroy-activity-duration":null,"auto-destroy-at":null,"operations":true,"terraform-version":"0.15.4","trigger-prefixes":[],"vcs-repo":null}}}',
  ],
  [
    200,
    'PATCH',
    `workspaces/${ids.other}`,
    '{"data":{"type":"workspaces","attributes":{"auto-destroy-at":"2030-04-02T00:00:00Z","description":"d","trigger-patterns":["/**"],"working-directory":"/db"}}}',
  ],
  [200, 'PATCH', `workspaces/${ids.other}`, '{"data":{"type":"workspaces","attributes":{"vcs-repo":null}}}'],
  [200, 'PATCH', `workspaces/${ids.other}`, '{"data":{"type":"workspaces"}}'],
  [200, 'POST', `workspaces/${ids.other}/actions/lock`, '{"data":{"type":"","attributes":{"reason":"maintenance"}}}'],
  [200, 'POST', `workspaces/${ids.other}/actions/unlock`, ''],
  [200, 'POST', `workspaces/${ids.other}/actions/lock`, '{"data":{"type":""}}'],
  [200, 'POST', `workspaces/${ids.other}/actions/force-unlock`, ''],
  [
    204,
    'POST',
    `workspaces/${ids.other}/relationships/tags`,
    '{"data":[{"type":"tags","attributes":{"name":"t1"}},{"type":"tags","attributes":{"name":"t2"}}]}',
  ],
  [
    204,
    'DELETE',
    `workspaces/${ids.other}/relationships/tags`,
    '{"data":[{"type":"tags","attributes":{"name":"t1"}}]}',
  ],
  [
    200,
    'PATCH',
    `workspaces/${ids.other}/tag-bindings`,
    '{"data":[{"type":"tag-bindings","attributes":{"key":"k","value":"v"}}]}',
  ],
  [204, 'POST', `workspaces/${ids.workspace}/relationships/remote-state-consumers`, `{"data":[${whole}]}`],
  [204, 'DELETE', `workspaces/${ids.workspace}/relationships/remote-state-consumers`, `{"data":[${whole}]}`],
  // Variables and variable sets
  [
    200,
    'PATCH',
    `workspaces/${ids.workspace}/vars/${ids.variable}`,
    '{"data":{"type":"vars","attributes":{"hcl":true,"key":"1st","value":"[1]"}}}',
  ],
  [
    200,
    'PATCH',
    `varsets/${ids.set}`,
    '{"data":{"type":"varsets","attributes":{"description":"","global":false,"name":"renamed"}}}',
  ],
  [
    201,
    'POST',
    `organizations/${organization}/varsets`,
    `{"data":{"type":"varsets","attributes":{"name":"of-project"},"relationships":{"parent":{"data":{"type":"projects","id":"${ids.project}"}}}}}`,
  ],
  [
    200,
    'PATCH',
    `varsets/${ids.set}?include=workspaces`,
    '{"data":{"type":"varsets","attributes":{"global":false},"relationships":{"workspaces":{"data":[]}}}}',
  ],
  [201, 'POST', `organizations/${organization}/varsets`, '{"data":{"attributes":{"name":"without a type"}}}'],
  [
    201,
    'POST',
    `varsets/${ids.set}/relationships/vars`,
    '{"data":{"attributes":{"category":"env","hcl":false,"key":"VAULT_TOKEN","sensitive":true,"value":"x"}}}',
  ],
  [204, 'POST', `varsets/${ids.set}/relationships/workspaces`, `{"data":[${whole}]}`],
  [204, 'DELETE', `varsets/${ids.set}/relationships/workspaces`, `{"data":[${whole}]}`],
  [
    204,
    'POST',
    `varsets/${ids.set}/relationships/projects`,
    `{"data":[{"type":"projects","id":"${ids.project}","attributes":{"description":"","is-unified":false,"name":""},"relationships":{"organization":{"data":null}}}]}`,
  ],
  [
    200,
    'PATCH',
    `varsets/${ids.set}/relationships/vars/${setVariable}`,
    '{"data":{"type":"vars","attributes":{"description":"d","sensitive":true,"value":"y"}}}',
  ],
  // Configuration versions and runs
  [201, 'POST', `workspaces/${ids.workspace}/configuration-versions`, '{"data":{"type":"configuration-versions"}}'],
  [
    201,
    'POST',
    `workspaces/${ids.workspace}/configuration-versions`,
    '{"data":{"type":"configuration-versions","attributes":{"auto-queue-runs":false,"speculative":true}}}',
  ],
  [
    201,
    'POST',
    'runs',
    `{"data":{"type":"runs","attributes":{"allow-empty-apply":true,"auto-apply":false,"is-destroy":false,"message":"m","refresh":true,"refresh-only":false,"replace-addrs":["terraform_data.a"],"target-addrs":["terraform_data.a"],"variables":[{"key":"test_variable","value":"\\"x\\""}]},"relationships":{"configuration-version":{"data":{"type":"configuration-versions","id":"${ids.version}"}},"workspace":{"data":{"type":"workspaces","id":"${ids.workspace}"}}}}}`,
  ],
  [
    201,
    'POST',
    'runs',
    `{"data":{"attributes":{"allow-empty-apply":false,"message":"","plan-only":true},"relationships":{"workspace":{"data":{"id":"${ids.workspace}","type":"workspaces"}}}}}`,
  ],
  [201, 'POST', `runs/${run}/comments`, '{"data":{"type":"comments","attributes":{"body":"hello"}}}'],
  [409, 'POST', `runs/${run}/actions/apply`, '{}'],
  [409, 'POST', `runs/${run}/actions/discard`, '{"comment":"no"}'],
  [202, 'POST', `runs/${run}/actions/cancel`, '{}'],
  // Agent pools and their tokens
  [
    200,
    'PATCH',
    `agent-pools/${ids.pool}`,
    '{"data":{"type":"agent-pools","relationships":{"allowed-workspaces":{"data":[]}}}}',
  ],
  [
    200,
    'PATCH',
    `agent-pools/${ids.pool}`,
    `{"data":{"type":"agent-pools","attributes":{"name":"renamed"},"relationships":{"allowed-projects":{"data":[{"type":"projects","id":"${ids.project}"}]},"allowed-workspaces":{"data":[{"type":"workspaces","id":"${ids.other}"}]}}}}`,
  ],
  [
    201,
    'POST',
    `agent-pools/${ids.pool}/authentication-tokens`,
    '{"data":{"type":"agent-tokens","attributes":{"description":"go"}}}',
  ],
  // Run tasks and run triggers
  [
    200,
    'PATCH',
    `tasks/${ids.task}`,
    '{"data":{"type":"tasks","attributes":{"description":"d","enabled":false,"global-configuration":{"enabled":true,"enforcement-level":"mandatory","stages":["post_plan","pre_plan"]}}}}',
  ],
  [
    200,
    'PATCH',
    `workspaces/${ids.workspace}/tasks/${workspaceTask}`,
    '{"data":{"type":"workspace-tasks","attributes":{"enforcement-level":"mandatory","stage":"pre_apply"}}}',
  ],
  [
    201,
    'POST',
    `workspaces/${ids.workspace}/run-triggers`,
    `{"data":{"type":"run-triggers","relationships":{"sourceable":{"data":{"type":"workspaces","id":"${ids.other}"}}}}}`,
  ],
  // Teams
  [
    201,
    'POST',
    'team-workspaces',
    `{"data":{"attributes":{"access":"read"},"relationships":{"team":{"data":{"id":"${secondTeam}","type":"teams"}},"workspace":{"data":{"id":"${ids.workspace}"}}},"type":"team-workspaces"}}`,
  ],
  [
    201,
    'POST',
    `organizations/${organization}/teams`,
    '{"data":{"type":"teams","attributes":{"allow-member-token-management":true,"name":"go-2","organization-access":{"access-secret-teams":true,"manage-agent-pools":true,"manage-workspaces":true},"sso-team-id":"x","visibility":"organization"}}}',
  ],
  [
    200,
    'PATCH',
    `teams/${ids.team}`,
    '{"data":{"type":"teams","attributes":{"name":"renamed","organization-access":{"manage-projects":true}}}}',
  ],
  [204, 'POST', `teams/${ids.team}/relationships/users`, `{"data":[{"type":"users","id":"${ids.username}"}]}`],
  [204, 'DELETE', `teams/${ids.team}/relationships/users`, `{"data":[{"type":"users","id":"${ids.username}"}]}`],
  [
    204,
    'POST',
    `teams/${ids.team}/relationships/organization-memberships`,
    `{"data":[{"type":"organization-memberships","id":"${membership}","attributes":{"email":"","status":""},"relationships":{"organization":{"data":null},"teams":{"data":[]},"user":{"data":null}}}]}`,
  ],
  [
    200,
    'PATCH',
    `team-workspaces/${teamWorkspace}`,
    '{"data":{"type":"team-workspaces","attributes":{"access":"write"}}}',
  ],
  [
    200,
    'PATCH',
    `team-projects/${teamProject}`,
    '{"data":{"type":"team-projects","attributes":{"access":"maintain","project-access":{"settings":"read"}}}}',
  ],
  [
    201,
    'POST',
    `teams/${ids.team}/authentication-token`,
    '{"data":{"type":"","attributes":{"expired-at":"2099-01-02T03:04:05Z"}}}',
  ],
  [
    201,
    'POST',
    `teams/${ids.team}/authentication-tokens`,
    '{"data":{"type":"authentication-tokens","attributes":{"description":"go"}}}',
  ],
  [201, 'POST', `organizations/${organization}/authentication-token`, '{"data":{"type":""}}'],
  [201, 'POST', `users/${user.id}/authentication-tokens`, '{"data":{"type":"","attributes":{"description":"go"}}}'],
  // The rest
  [
    201,
    'POST',
    `organizations/${organization}/reserved-tag-keys`,
    '{"data":{"type":"reserved-tag-keys","attributes":{"disable-overrides":false,"key":"reserved"}}}',
  ],
  [
    201,
    'POST',
    `workspaces/${ids.workspace}/relationships/data-retention-policy`,
    '{"data":{"type":"data-retention-policy-delete-olders","attributes":{"delete-older-than-n-days":30}}}',
  ],
  [
    201,
    'POST',
    `organizations/${organization}/relationships/data-retention-policy`,
    '{"data":{"type":"data-retention-policy-dont-deletes"}}',
  ],
]

test.each(ROWS)('%i: %s %s %s', async (status, method, path, body) => {
  const response = await send(method, path, body)

  expect([response.status, response.status < 400 ? '' : response.text]).toEqual([
    status,
    status < 400 ? '' : response.text,
  ])
})

test('a state version names no run with null', async () => {
  const fresh = await addWorkspace(app, { user, organization })
  await send('POST', `workspaces/${fresh.workspaceId}/actions/lock`, '{"data":{"type":""}}')

  const response = await send(
    'POST',
    `workspaces/${fresh.workspaceId}/state-versions`,
    `{"data":{"type":"state-versions","attributes":{"lineage":"go","md5":"${md5}","serial":1,"state":"${state.toString('base64')}"},"relationships":{"run":{"data":null}}}}`,
  )

  expect([response.status, response.json().data.relationships.run.data]).toEqual([201, null])
})
