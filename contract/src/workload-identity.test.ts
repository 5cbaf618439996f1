import { describe, expect, test } from 'vitest'
import { readCredentials } from './workload-identity.ts'

type Variables = Record<string, string>

function read(variables: Variables, phase: 'plan' | 'apply' = 'plan') {
  return readCredentials(new Map(Object.entries(variables)), phase)
}

const ROLE = 'arn:aws:iam::123456789012:role/terraform'
const CLIENT = '11111111-2222-3333-4444-555555555555'
const POOL = 'projects/42/locations/global/workloadIdentityPools/pool/providers/runs'
const SERVICE_ACCOUNT = 'runs@project.iam.gserviceaccount.com'
const RESOURCE = 'iam/project/p1/service-principal/runs/workload-identity-provider/groundstate'
const PEM = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'

const AWS = { TFC_AWS_PROVIDER_AUTH: 'true', TFC_AWS_RUN_ROLE_ARN: ROLE }
const GCP = {
  TFC_GCP_PROVIDER_AUTH: 'true',
  TFC_GCP_RUN_SERVICE_ACCOUNT_EMAIL: SERVICE_ACCOUNT,
  TFC_GCP_WORKLOAD_PROVIDER_NAME: POOL,
}
const AZURE = { TFC_AZURE_PROVIDER_AUTH: 'true', TFC_AZURE_RUN_CLIENT_ID: CLIENT }
const VAULT = {
  TFC_VAULT_PROVIDER_AUTH: 'true',
  TFC_VAULT_ADDR: 'https://vault.example.com:8200/',
  TFC_VAULT_RUN_ROLE: 'runs',
}
const vault = {
  provider: 'vault',
  address: 'https://vault.example.com:8200',
  role: 'runs',
  namespace: undefined,
  authPath: 'jwt',
  caCertificate: undefined,
  timeoutMs: 60_000,
}

describe('a configuration', () => {
  test.each([
    ['of AWS', AWS, { provider: 'aws', roleArn: ROLE, audience: 'aws.workload.identity' }],
    [
      'of AWS in China',
      { ...AWS, TFC_AWS_RUN_ROLE_ARN: 'arn:aws-cn:iam::123456789012:role/path/runs' },
      { provider: 'aws', roleArn: 'arn:aws-cn:iam::123456789012:role/path/runs', audience: 'aws.workload.identity' },
    ],
    [
      'of GCP',
      GCP,
      {
        provider: 'gcp',
        providerName: POOL,
        serviceAccountEmail: SERVICE_ACCOUNT,
        audience: `//iam.googleapis.com/${POOL}`,
      },
    ],
    [
      'of GCP by parts, without a service account',
      {
        TFC_GCP_PROVIDER_AUTH: 'true',
        TFC_GCP_PRINCIPAL_TYPE: 'workload_pool',
        TFC_GCP_PROJECT_NUMBER: '42',
        TFC_GCP_WORKLOAD_POOL_ID: 'pool',
        TFC_GCP_WORKLOAD_PROVIDER_ID: 'runs',
      },
      {
        provider: 'gcp',
        providerName: POOL,
        serviceAccountEmail: undefined,
        audience: `//iam.googleapis.com/${POOL}`,
      },
    ],
    ['of Azure', AZURE, { provider: 'azure', clientId: CLIENT, audience: 'api://AzureADTokenExchange' }],
    ['of Vault', VAULT, { ...vault, audience: 'vault.workload.identity' }],
    [
      'of Vault with everything',
      {
        ...VAULT,
        TFC_VAULT_NAMESPACE: 'admin/team',
        TFC_VAULT_AUTH_PATH: '/jwt-runs/',
        TFC_VAULT_ENCODED_CACERT: btoa(PEM),
        TFC_VAULT_CLIENT_TIMEOUT: '5',
        TFC_VAULT_WORKLOAD_IDENTITY_AUDIENCE: 'mine',
      },
      {
        ...vault,
        namespace: 'admin/team',
        authPath: 'jwt-runs',
        caCertificate: PEM,
        timeoutMs: 5_000,
        audience: 'mine',
      },
    ],
    ['of Kubernetes', { TFC_KUBERNETES_PROVIDER_AUTH: 'true' }, { provider: 'kubernetes', audience: 'kubernetes' }],
    [
      'of HCP',
      { TFC_HCP_PROVIDER_AUTH: 'true', TFC_HCP_RUN_PROVIDER_RESOURCE_NAME: RESOURCE },
      { provider: 'hcp', resourceName: RESOURCE, audience: RESOURCE },
    ],
    [
      'of HCP with a principal of the organization',
      {
        TFC_HCP_PROVIDER_AUTH: 'true',
        TFC_HCP_RUN_PROVIDER_RESOURCE_NAME: RESOURCE.replace('project', 'organization'),
      },
      {
        provider: 'hcp',
        resourceName: RESOURCE.replace('project', 'organization'),
        audience: RESOURCE.replace('project', 'organization'),
      },
    ],
    ['of a token', { TFC_WORKLOAD_IDENTITY_AUDIENCE: 'other' }, { provider: 'token', audience: 'other' }],
  ])('%s is read with its default audience', (_name, variables, credential) => {
    expect(read(variables as Variables)).toEqual({ credentials: [{ tag: undefined, ...credential }], problems: [] })
  })

  test('is off unless it is enabled', () => {
    const off = { TFC_AWS_RUN_ROLE_ARN: ROLE, TFC_GCP_PROVIDER_AUTH: 'false', TFC_AZURE_PROVIDER_AUTH: '' }

    expect(read({ ...off, TFC_WORKLOAD_IDENTITY_AUDIENCE: ' ' })).toEqual({ credentials: [], problems: [] })
  })
})

describe('a phase', () => {
  const roles = { plan: 'arn:aws:iam::123456789012:role/reads', apply: 'arn:aws:iam::123456789012:role/writes' }
  const perPhase = { TFC_AWS_PLAN_ROLE_ARN: roles.plan, TFC_AWS_APPLY_ROLE_ARN: roles.apply }

  test.each(['plan', 'apply'] as const)('has its own role: %s', (phase) => {
    const alone = read({ TFC_AWS_PROVIDER_AUTH: 'true', ...perPhase }, phase)

    expect(alone.credentials).toMatchObject([{ roleArn: roles[phase] }])
    expect(read({ ...AWS, ...perPhase }, phase)).toEqual(alone)
  })

  test('falls back to the role of the run, and then to defaults', () => {
    const onlyPlan = { ...AWS, TFC_AWS_PLAN_ROLE_ARN: roles.plan }
    const defaults = { TFC_AWS_PROVIDER_AUTH: 'true', TFC_DEFAULT_AWS_APPLY_ROLE_ARN: roles.apply }

    expect(read(onlyPlan, 'apply').credentials).toMatchObject([{ roleArn: ROLE }])
    expect(read({ ...defaults, TFC_DEFAULT_AWS_RUN_ROLE_ARN: ROLE }, 'plan').credentials).toMatchObject([
      { roleArn: ROLE },
    ])
    expect(read({ ...defaults, TFC_DEFAULT_AWS_RUN_ROLE_ARN: ROLE }, 'apply').credentials).toMatchObject([
      { roleArn: roles.apply },
    ])
  })

  test('has the role of its configuration before any default', () => {
    const both = { ...AWS, TFC_DEFAULT_AWS_PLAN_ROLE_ARN: roles.plan, TFC_DEFAULT_AWS_RUN_ROLE_ARN: roles.apply }

    expect(read(both).credentials).toMatchObject([{ roleArn: ROLE }])
    expect(read({ ...both, TFC_AWS_RUN_ROLE_ARN: '' }).credentials).toMatchObject([{ roleArn: roles.plan }])
    expect(read({ ...both, TFC_AWS_RUN_ROLE_ARN: 'x' }).problems).toEqual([
      expect.stringMatching(/^TFC_AWS_RUN_ROLE_ARN is not/),
    ])
  })

  test('without a role is a problem, only for that phase', () => {
    const onlyApply = { TFC_AWS_PROVIDER_AUTH: 'true', TFC_AWS_APPLY_ROLE_ARN: roles.apply }

    expect(read(onlyApply, 'apply').problems).toEqual([])
    expect(read(onlyApply, 'plan')).toEqual({
      credentials: [],
      problems: ['TFC_AWS_PROVIDER_AUTH is true, but TFC_AWS_PLAN_ROLE_ARN or TFC_AWS_RUN_ROLE_ARN is missing'],
    })
  })

  test('of HCP has the audience of its resource', () => {
    const apply = RESOURCE.replace('runs', 'applies')
    const variables = {
      TFC_HCP_PROVIDER_AUTH: 'true',
      TFC_HCP_RUN_PROVIDER_RESOURCE_NAME: RESOURCE,
      TFC_HCP_APPLY_PROVIDER_RESOURCE_NAME: apply,
    }

    expect(read(variables, 'plan').credentials).toMatchObject([{ audience: RESOURCE }])
    expect(read(variables, 'apply').credentials).toMatchObject([{ audience: apply }])
  })
})

describe('a tag', () => {
  test('has variables with its suffix, and shares defaults', () => {
    const { credentials, problems } = read({
      ...AWS,
      TFC_AWS_PROVIDER_AUTH_EU: 'true',
      TFC_AWS_RUN_ROLE_ARN_EU: 'arn:aws:iam::123456789012:role/eu',
      TFC_AWS_PROVIDER_AUTH_us_2: 'true',
      TFC_DEFAULT_AWS_RUN_ROLE_ARN: 'arn:aws:iam::123456789012:role/default',
      TFC_DEFAULT_AWS_WORKLOAD_IDENTITY_AUDIENCE: 'shared',
      TFC_AWS_WORKLOAD_IDENTITY_AUDIENCE_EU: 'eu',
    })

    expect(problems).toEqual([])
    expect(credentials).toEqual([
      { provider: 'aws', tag: undefined, audience: 'shared', roleArn: ROLE },
      { provider: 'aws', tag: 'EU', audience: 'eu', roleArn: 'arn:aws:iam::123456789012:role/eu' },
      { provider: 'aws', tag: 'us_2', audience: 'shared', roleArn: 'arn:aws:iam::123456789012:role/default' },
    ])
  })

  test('does not use the variables of the default configuration', () => {
    const { credentials, problems } = read({ ...AWS, TFC_AWS_PROVIDER_AUTH_EU: 'true' })

    expect(credentials).toHaveLength(1)
    expect(problems).toEqual([
      'TFC_AWS_PROVIDER_AUTH_EU is true, but TFC_AWS_PLAN_ROLE_ARN_EU or TFC_AWS_RUN_ROLE_ARN_EU is missing',
    ])
  })

  test.each(['AWS', 'GCP', 'AZURE', 'VAULT', 'KUBERNETES', 'HCP'])('exists for each provider: %s', (provider) => {
    const tagged = Object.entries({
      ...AWS,
      ...GCP,
      ...AZURE,
      ...VAULT,
      TFC_KUBERNETES_PROVIDER_AUTH: 'true',
      TFC_HCP_PROVIDER_AUTH: 'true',
      TFC_HCP_RUN_PROVIDER_RESOURCE_NAME: RESOURCE,
    }).map(([name, value]) => [`${name}_T1`, value])

    const { credentials, problems } = read(Object.fromEntries(tagged))

    expect(problems).toEqual([])
    expect(credentials).toContainEqual(expect.objectContaining({ provider: provider.toLowerCase(), tag: 'T1' }))
  })

  test('of a token has a separate audience', () => {
    const { credentials } = read({ TFC_WORKLOAD_IDENTITY_AUDIENCE: 'a', TFC_WORKLOAD_IDENTITY_AUDIENCE_DB: 'b' })

    expect(credentials).toEqual([
      { provider: 'token', tag: undefined, audience: 'a' },
      { provider: 'token', tag: 'DB', audience: 'b' },
    ])
  })

  test.each([
    ['is reserved', { TFC_AWS_PROVIDER_AUTH_TYPE: 'true' }, 'TFC_AWS_PROVIDER_AUTH_TYPE has the reserved tag TYPE'],
    ['is reserved', { TFC_WORKLOAD_IDENTITY_AUDIENCE_TYPE: 'a' }, 'AUDIENCE_TYPE has the reserved tag TYPE'],
    [
      'is long',
      { [`TFC_WORKLOAD_IDENTITY_AUDIENCE_${'A'.repeat(101)}`]: 'a' },
      'has a tag of more than 100 characters',
    ],
    [
      'has other characters',
      { 'TFC_AWS_PROVIDER_AUTH_../../x': 'true' },
      'TFC_AWS_PROVIDER_AUTH_../../x has a tag with other characters than letters, digits and underscores',
    ],
  ])('that %s is a problem', (_name, variables, problem) => {
    expect(read(variables)).toEqual({ credentials: [], problems: [expect.stringContaining(problem)] })
  })
})

test.each([
  ['/jwt-runs/', 'jwt-runs'],
  ['oidc/runs.example.com', 'oidc/runs.example.com'],
  ['.hidden/..runs', '.hidden/..runs'],
])('the path of an auth method of Vault has any segments but dots: %s', (text, authPath) => {
  expect(read({ ...VAULT, TFC_VAULT_AUTH_PATH: text }).credentials).toMatchObject([{ authPath }])
})

describe('an audience', () => {
  const longest = 'a'.repeat(1000)

  test('is trimmed, and has at most 1000 characters', () => {
    const { credentials, problems } = read({ TFC_WORKLOAD_IDENTITY_AUDIENCE: ` ${longest}\n` })

    expect({ credentials, problems }).toMatchObject({ credentials: [{ audience: longest }], problems: [] })
  })

  test.each([
    ['is too long', `${longest}a`, 'must have at most 1000 characters'],
    ['has a line break', 'a\nb', 'must have no control characters'],
    ['has an escape', 'a\u001b[2Jb', 'must have no control characters'],
  ])('that %s is a problem that names its variable', (_name, audience, problem) => {
    const names = [
      'TFC_WORKLOAD_IDENTITY_AUDIENCE',
      'TFC_WORKLOAD_IDENTITY_AUDIENCE_DB',
      'TFC_AWS_WORKLOAD_IDENTITY_AUDIENCE',
      'TFC_DEFAULT_AWS_WORKLOAD_IDENTITY_AUDIENCE',
    ]

    const found = names.map((name) => read({ ...(name.includes('AWS') && AWS), [name]: audience }))

    expect(found).toEqual(names.map((name) => ({ credentials: [], problems: [`${name} ${problem}`] })))
  })

  test('is one of at most 50 in a phase; tags may share them', () => {
    const tagged = (count: number, audience: (at: number) => string) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`TFC_WORKLOAD_IDENTITY_AUDIENCE_T${at}`, audience(at)]),
      )

    const [shared, most, tooMany] = [
      read(tagged(60, () => 'a')),
      read(tagged(50, String)),
      read({ ...tagged(50, String), ...AWS }),
    ]

    expect(shared).toMatchObject({ credentials: { length: 60 }, problems: [] })
    expect(most).toMatchObject({ credentials: { length: 50 }, problems: [] })
    expect(new Set(tooMany.credentials.map(({ audience }) => audience)).size).toBe(50)
    expect(tooMany.problems).toEqual(['the variables have 51 different audiences in a phase: 50 are possible'])
  })
})

test('the name of a GCP provider takes precedence over its parts, and spaces at the ends are ignored', () => {
  const variables = { ...GCP, TFC_GCP_PROJECT_NUMBER: '1', TFC_GCP_WORKLOAD_PROVIDER_NAME: ` ${POOL}\n` }

  expect(read(variables).credentials).toMatchObject([{ providerName: POOL }])
})

test.each<[string, Variables, string]>([
  ['AWS', { ...AWS, TFC_AWS_PROVIDER_AUTH: 'yes' }, 'TFC_AWS_PROVIDER_AUTH must be true, or false to disable it'],
  [
    'AWS',
    { ...AWS, TFC_AWS_RUN_ROLE_ARN: 'terraform' },
    'TFC_AWS_RUN_ROLE_ARN is not the ARN of a role, such as arn:aws:iam::123456789012:role/terraform',
  ],
  [
    'AWS',
    { ...AWS, TFC_AWS_RUN_ROLE_ARN: `${ROLE}\nsource_profile = x` },
    'TFC_AWS_RUN_ROLE_ARN is not the ARN of a role, such as arn:aws:iam::123456789012:role/terraform',
  ],
  [
    'GCP',
    { ...GCP, TFC_GCP_WORKLOAD_PROVIDER_NAME: '', TFC_GCP_PROJECT_NUMBER: '42' },
    'TFC_GCP_WORKLOAD_PROVIDER_NAME is missing: set it, or the project number, pool ID and provider ID',
  ],
  ['GCP', { ...GCP, TFC_GCP_WORKLOAD_PROVIDER_NAME: 'runs' }, 'TFC_GCP_WORKLOAD_PROVIDER_NAME must have the form'],
  [
    'GCP',
    { ...GCP, TFC_GCP_PRINCIPAL_TYPE: 'user' },
    'TFC_GCP_PRINCIPAL_TYPE must be service_account or workload_pool',
  ],
  [
    'GCP',
    { ...GCP, TFC_GCP_RUN_SERVICE_ACCOUNT_EMAIL: 'x/../y' },
    'TFC_GCP_RUN_SERVICE_ACCOUNT_EMAIL is not the e-mail address of a service account',
  ],
  ['Azure', { ...AZURE, TFC_AZURE_RUN_CLIENT_ID: 'runs' }, 'TFC_AZURE_RUN_CLIENT_ID must be a UUID'],
  ['Vault', { ...VAULT, TFC_VAULT_ADDR: '' }, 'TFC_VAULT_ADDR is missing: set it to the address of Vault'],
  ['Vault', { ...VAULT, TFC_VAULT_ADDR: 'file:///etc' }, 'TFC_VAULT_ADDR must be a URL'],
  ['Vault', { ...VAULT, TFC_VAULT_ADDR: 'https://u:p@vault' }, 'TFC_VAULT_ADDR must be a URL'],
  ['Vault', { ...VAULT, TFC_VAULT_RUN_ROLE: '' }, 'TFC_VAULT_PLAN_ROLE or TFC_VAULT_RUN_ROLE is missing'],
  ['Vault', { ...VAULT, TFC_VAULT_AUTH_PATH: 'a b' }, 'TFC_VAULT_AUTH_PATH must be the path of an auth method'],
  ...['../sys', 'jwt/./runs', 'jwt/..', 'jwt//runs'].map((path): [string, Variables, string] => [
    `Vault, ${path}`,
    { ...VAULT, TFC_VAULT_AUTH_PATH: path },
    'TFC_VAULT_AUTH_PATH must be the path of an auth method',
  ]),
  [
    'Vault',
    { ...VAULT, TFC_VAULT_ENCODED_CACERT: PEM },
    'TFC_VAULT_ENCODED_CACERT must be a PEM certificate in Base64',
  ],
  ['Vault', { ...VAULT, TFC_VAULT_CLIENT_TIMEOUT: '1m' }, 'TFC_VAULT_CLIENT_TIMEOUT must be a number of seconds'],
  [
    'HCP',
    { TFC_HCP_PROVIDER_AUTH: 'true', TFC_HCP_RUN_PROVIDER_RESOURCE_NAME: 'runs' },
    'TFC_HCP_RUN_PROVIDER_RESOURCE_NAME must have the form iam/project/',
  ],
  ...["p1'$(id)'", '..', 'é'].map((segment): [string, Variables, string] => [
    `HCP, ${segment}`,
    { TFC_HCP_PROVIDER_AUTH: 'true', TFC_HCP_RUN_PROVIDER_RESOURCE_NAME: RESOURCE.replace('p1', segment) },
    'TFC_HCP_RUN_PROVIDER_RESOURCE_NAME must have the form iam/project/',
  ]),
  ['Vault-backed', { TFC_VAULT_BACKED_AWS_AUTH: 'true' }, 'TFC_VAULT_BACKED_AWS_AUTH is not supported'],
])('bad input of %s is a problem that names the variable, not its value', (_name, variables, problem) => {
  expect(read(variables)).toEqual({ credentials: [], problems: [expect.stringContaining(problem)] })
})

test('a malformed default is reported by the name that is set', () => {
  const variables = { TFC_AWS_PROVIDER_AUTH: 'true', TFC_DEFAULT_AWS_RUN_ROLE_ARN: 'x' }

  expect(read(variables).problems).toEqual([expect.stringContaining('TFC_DEFAULT_AWS_RUN_ROLE_ARN is not the ARN')])
})

test('problems of one configuration leave the others', () => {
  const { credentials, problems } = read({ ...AWS, ...AZURE, TFC_AZURE_RUN_CLIENT_ID: 'runs' })

  expect(credentials).toMatchObject([{ provider: 'aws' }])
  expect(problems).toHaveLength(1)
})
