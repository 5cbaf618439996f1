import type { IdentityProvider, WorkloadIdentityResource } from '@groundstate/contract/workspace-identity'

type TrustPolicy = WorkloadIdentityResource['attributes']['trust-policies'][number]

export type Trust = {
  issuer: string
  subjects: { plan: string; apply: string }
  organization: { id: string; name: string }
  workspace: { id: string; name: string }
  /** The audience and, where the variables name them, the objects of a service. */
  audienceOf: (provider: IdentityProvider) => string | undefined
  awsAccount: string | undefined
  gcp: { projectNumber: string; pool: string; provider: string } | undefined
  hcpPrincipal: string | undefined
  /** Settings by which tokens are valid for more than a day. */
  longLimits: readonly string[]
}

/** Policies by which services trust the runs of a workspace. Capitalised words are to be replaced. */
export function trustPolicies(trust: Trust): TrustPolicy[] {
  return [aws(trust), gcp(trust), azure(trust), vault(trust), kubernetes(trust), hcp(trust), anyService(trust)]
}

const json = (value: unknown) => JSON.stringify(value, undefined, 2)

/** One word of a POSIX shell. */
function shellQuoted(text: string) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** A string literal of CEL, of HCP's conditions and of YAML, all of which accept those of JSON. */
const literal = (text: string) => JSON.stringify(text)

const sentences = (...list: readonly (string | false)[]) => list.filter((text) => text !== false).join(' ')

function aws({ issuer, subjects, audienceOf, awsAccount = 'ACCOUNT_ID' }: Trust): TrustPolicy {
  const site = issuer.replace(/^https?:\/\//, '')
  const audience = audienceOf('aws') ?? 'aws.workload.identity'
  const policy = {
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Principal: { Federated: `arn:aws:iam::${awsAccount}:oidc-provider/${site}` },
        Action: 'sts:AssumeRoleWithWebIdentity',
        Condition: {
          StringEquals: { [`${site}:aud`]: audience, [`${site}:sub`]: [subjects.plan, subjects.apply] },
        },
      },
    ],
  }
  return {
    provider: 'aws',
    note: sentences(
      hasPort(issuer) &&
        `AWS refuses an issuer with a port, as ${site} has: set GROUNDSTATE_ISSUER_URL to an address without one.`,
      'AWS checks the certificate of the issuer against its own authorities; only with another authority add --thumbprint-list with the SHA-1 fingerprint of its certificate. Use two roles to permit less in plans.',
    ),
    snippets: [
      {
        title: 'Create the identity provider',
        language: 'shell',
        text: `aws iam create-open-id-connect-provider \\\n  --url ${shellQuoted(issuer)} \\\n  --client-id-list ${shellQuoted(audience)}\n`,
      },
      // IAM accepts only characters of Latin 1 in policies.
      { title: 'Trust policy of the role', language: 'json', text: `${escapedBeyondLatin1(json(policy))}\n` },
      {
        title: 'Create the role',
        language: 'shell',
        text: 'aws iam create-role --role-name terraform \\\n  --assume-role-policy-document file://trust-policy.json\n',
      },
    ],
  }
}

function hasPort(issuer: string) {
  return new URL(issuer).port !== ''
}

function escapedBeyondLatin1(text: string) {
  return text.replaceAll(/[^\0-\xff]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function gcp({ issuer, organization, workspace, audienceOf, longLimits, gcp: names }: Trust): TrustPolicy {
  const { projectNumber, pool, provider } = names ?? {
    projectNumber: 'PROJECT_NUMBER',
    pool: 'POOL',
    provider: 'PROVIDER',
  }
  const providerName = `projects/${projectNumber}/locations/global/workloadIdentityPools/${pool}/providers/${provider}`
  const audience = audienceOf('gcp')
  const isDefault = audience === undefined || audience === `//iam.googleapis.com/${providerName}`
  const mapping = [
    // Google accepts at most 127 bytes, which a subject of long names exceeds.
    'google.subject=assertion.terraform_workspace_id + "/" + assertion.terraform_run_phase',
    ...['terraform_workspace_id', 'terraform_project_id', 'terraform_run_phase'].map(
      (claim) => `attribute.${claim}=assertion.${claim}`,
    ),
  ].join(',')
  const condition = `assertion.terraform_organization_id == ${literal(organization.id)}`
  const members = `principalSet://iam.googleapis.com/projects/${projectNumber}/locations/global/workloadIdentityPools/${pool}/attribute.terraform_workspace_id/${workspace.id}`
  return {
    provider: 'gcp',
    note: sentences(
      longLimits.length > 0 &&
        `Google Cloud refuses tokens that are valid for 48 hours or more: set ${longLimits.join(' and ')} to at most 24 hours.`,
      `Ids do not change when the organization or the workspace is renamed. The service account grants access to all runs of the workspace; for applies only, bind principal://iam.googleapis.com/…/subject/${workspace.id}/apply.`,
    ),
    snippets: [
      {
        title: 'Create the pool and the provider',
        language: 'shell',
        text: [
          `gcloud iam workload-identity-pools create ${shellQuoted(pool)} --location=global`,
          '',
          `gcloud iam workload-identity-pools providers create-oidc ${shellQuoted(provider)} \\`,
          `  --location=global --workload-identity-pool=${shellQuoted(pool)} \\`,
          `  --issuer-uri=${shellQuoted(issuer)} \\`,
          ...(isDefault ? [] : [`  --allowed-audiences=${shellQuoted(audience)} \\`]),
          `  --attribute-mapping=${shellQuoted(mapping)} \\`,
          `  --attribute-condition=${shellQuoted(condition)}`,
          '',
        ].join('\n'),
      },
      {
        title: 'Let the workspace use a service account',
        language: 'shell',
        text: [
          'gcloud iam service-accounts add-iam-policy-binding SERVICE_ACCOUNT_EMAIL \\',
          '  --role=roles/iam.workloadIdentityUser \\',
          `  --member=${shellQuoted(members)}`,
          '',
        ].join('\n'),
      },
    ],
  }
}

function azure({ issuer, subjects, workspace, audienceOf, longLimits }: Trust): TrustPolicy {
  const audience = audienceOf('azure') ?? 'api://AzureADTokenExchange'
  const credential = (phase: 'plan' | 'apply') => ({
    title: `Federated credential for ${phase === 'plan' ? 'plans' : 'applies'}, ${phase}.json`,
    language: 'json' as const,
    text: `${json({
      name: `groundstate-${workspace.id}-${phase}`,
      issuer,
      subject: subjects[phase],
      description: `Groundstate workspace ${workspace.name}, ${phase}`,
      audiences: [audience],
    })}\n`,
  })
  return {
    provider: 'azure',
    note: sentences(
      longLimits.length > 0 &&
        `Azure refuses tokens that are valid for more than 24 hours: shorten ${longLimits.join(' and ')}.`,
      'Azure compares the subject as a whole, so each phase needs a credential, and so does a renamed workspace.',
    ),
    snippets: [
      credential('plan'),
      credential('apply'),
      {
        title: 'Add both to the application',
        language: 'shell',
        text: (['plan', 'apply'] as const)
          .map((phase) => `az ad app federated-credential create --id CLIENT_ID --parameters ${phase}.json\n`)
          .join(''),
      },
    ],
  }
}

function vault({ issuer, subjects, audienceOf }: Trust): TrustPolicy {
  const role = {
    role_type: 'jwt',
    bound_audiences: [audienceOf('vault') ?? 'vault.workload.identity'],
    bound_claims_type: 'string',
    bound_claims: { sub: [subjects.plan, subjects.apply] },
    user_claim: 'terraform_workspace_id',
    token_policies: ['terraform'],
    token_ttl: '20m',
  }
  return {
    provider: 'vault',
    note: 'Vault itself reads the documents of the issuer. With a private certificate authority add oidc_discovery_ca_pem=@ca.pem.',
    snippets: [
      {
        title: 'Configure the auth method',
        language: 'shell',
        text: `vault auth enable jwt\n\nvault write auth/jwt/config \\\n  oidc_discovery_url=${shellQuoted(issuer)} \\\n  bound_issuer=${shellQuoted(issuer)}\n`,
      },
      { title: 'Role, role.json', language: 'json', text: `${json(role)}\n` },
      { title: 'Create the role', language: 'shell', text: 'vault write auth/jwt/role/terraform @role.json\n' },
    ],
  }
}

const USER_PREFIX = 'groundstate:'

function kubernetes({ issuer, subjects, organization, audienceOf }: Trust): TrustPolicy {
  const user = (subject: string) =>
    `  - apiGroup: rbac.authorization.k8s.io\n    kind: User\n    name: ${literal(`${USER_PREFIX}${subject}`)}\n`
  return {
    provider: 'kubernetes',
    note: 'For the option --authentication-config of the API server. The version is apiserver.config.k8s.io/v1 from Kubernetes 1.34, v1beta1 from 1.30. EKS has a setting for OIDC providers instead, with the same issuer, audience and claim. For GKE use the credentials of Google Cloud.',
    snippets: [
      {
        title: 'Authentication of the API server',
        language: 'yaml',
        text: [
          'apiVersion: apiserver.config.k8s.io/v1beta1',
          'kind: AuthenticationConfiguration',
          'jwt:',
          '  - issuer:',
          `      url: ${literal(issuer)}`,
          '      audiences:',
          `        - ${literal(audienceOf('kubernetes') ?? 'kubernetes')}`,
          '    claimValidationRules:',
          '      - claim: terraform_organization_id',
          `        requiredValue: ${literal(organization.id)}`,
          '    claimMappings:',
          '      username:',
          '        claim: sub',
          `        prefix: ${literal(USER_PREFIX)}`,
          '',
        ].join('\n'),
      },
      {
        title: 'Permissions of runs',
        language: 'yaml',
        text: [
          'apiVersion: rbac.authorization.k8s.io/v1',
          'kind: ClusterRoleBinding',
          'metadata:',
          '  name: groundstate',
          'roleRef:',
          '  apiGroup: rbac.authorization.k8s.io',
          '  kind: ClusterRole',
          '  name: CLUSTER_ROLE',
          'subjects:',
          `${user(subjects.plan)}${user(subjects.apply)}`,
        ].join('\n'),
      },
    ],
  }
}

function hcp({
  issuer,
  subjects,
  audienceOf,
  hcpPrincipal = 'iam/project/PROJECT_ID/service-principal/NAME',
}: Trust): TrustPolicy {
  const audience = audienceOf('hcp')
  const isDefault = audience === undefined || audience.startsWith(`${hcpPrincipal}/`)
  const condition = [subjects.plan, subjects.apply]
    .map((subject) => `jwt_claims.sub == ${literal(subject)}`)
    .join(' or ')
  return {
    provider: 'hcp',
    note: 'Without --allowed-audience, HCP expects the resource name of the provider, which is the default audience.',
    snippets: [
      {
        title: 'Create the workload identity provider',
        language: 'shell',
        text: [
          'hcp iam workload-identity-providers create-oidc groundstate \\',
          `  --service-principal=${shellQuoted(hcpPrincipal)} \\`,
          `  --issuer=${shellQuoted(issuer)} \\`,
          ...(isDefault ? [] : [`  --allowed-audience=${shellQuoted(audience)} \\`]),
          `  --conditional-access=${shellQuoted(condition)}`,
          '',
        ].join('\n'),
      },
    ],
  }
}

function anyService({ issuer, subjects, audienceOf }: Trust): TrustPolicy {
  return {
    provider: 'token',
    note: 'For services without variables: TFC_WORKLOAD_IDENTITY_AUDIENCE sets the audience, and TFC_WORKLOAD_IDENTITY_TOKEN has the token.',
    snippets: [
      {
        title: 'Claims to require',
        language: 'json',
        text: `${json({ iss: issuer, aud: audienceOf('token') ?? 'AUDIENCE', sub: [subjects.plan, subjects.apply] })}\n`,
      },
      {
        title: 'Read the configuration of the issuer',
        language: 'shell',
        text: `curl ${shellQuoted(`${issuer}/.well-known/openid-configuration`)}\n`,
      },
    ],
  }
}
