import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SEALED_COLUMNS, SEALED_JOB_PROPERTIES } from '../features/sealed.ts'
import { createTestDatabase, execute } from '../testing/database.ts'

const SOURCES = join(import.meta.dirname, '..')
const DECLARATION = /\bsealed(?:Column|BlobColumn)\(\s*'([\w.]+)'/g
const JOB_DECLARATION = /\bsealedJobProperty\(/g

/** Reasons why a column of bytes is not sealed. A new one is declared with `sealedColumn`, or gets a line here. */
const NOT_SEALED = {
  'is a hash': [
    'agent_jobs.token_hash',
    'oauth_codes.hash',
    'organization_memberships.invitation_hash',
    'organization_memberships.mailed_invitation_hash',
    'password_resets.hash',
    'policy_requests.token_hash',
    'recovery_codes.hash',
    'sessions.hash',
    'task_requests.token_hash',
    'tokens.hash',
    'vcs_authorizations.hash',
  ],
  'has nothing secret': [
    'avatars.content',
    'registry_provider_versions.shasums',
    'registry_provider_versions.shasums_signature',
    'state_versions.instances',
    'state_versions.resource_list',
  ],
  'is shown to readers as it is': [
    'commit_status_deliveries.response_body',
    'log_chunks.data',
    'notification_deliveries.response_body',
    'task_deliveries.response_body',
  ],
  'is not used': ['oauth_clients.private_key'],
}

async function declarations() {
  const columns: string[] = []
  let jobs = 0
  for (const path of await readdir(SOURCES, { recursive: true })) {
    if (!path.endsWith('.ts') || path.endsWith('.test.ts') || path === 'secrets/sealed.ts') continue
    const text = await readFile(join(SOURCES, path), 'utf8')
    columns.push(...[...text.matchAll(DECLARATION)].map(([, name = '']) => name))
    jobs += [...text.matchAll(JOB_DECLARATION)].length
  }
  return { columns: columns.toSorted(), jobs }
}

test('every declared column and job property is listed, so that replacing the secret reaches it', async () => {
  const { columns, jobs } = await declarations()

  expect(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).toSorted()).toEqual(columns)
  expect(SEALED_JOB_PROPERTIES).toHaveLength(jobs)
})

test('every column of bytes is sealed, or known not to be', async () => {
  await using database = await createTestDatabase()

  const { rows } = await execute(
    database.url,
    `select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = 'public' and data_type = 'bytea' order by 1`,
  )

  const known = [
    ...SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`),
    ...Object.values(NOT_SEALED).flat(),
  ]
  expect(rows.map(({ name }) => name)).toEqual(known.toSorted())
})

test('the context of each column is made from columns of its table', async () => {
  await using database = await createTestDatabase()

  const { rows } = await execute(
    database.url,
    `select table_name || '.' || column_name as name from information_schema.columns where table_schema = 'public'`,
  )

  const present = new Set(rows.map(({ name }) => name))
  const used = SEALED_COLUMNS.flatMap(({ table, column, by }) => [column, ...by].map((name) => `${table}.${name}`))
  expect(used.filter((name) => !present.has(name))).toEqual([])
})
