import type { Credential } from '@groundstate/contract/workload-identity'

/** A configuration of a provider, and the token for it: for Vault the one that a login returned. */
export type Identified = { credential: Credential; token: string }

type Site = {
  runId: string
  /** The path of a file by its name: as an absolute path, and relative to the working directory. */
  pathOf: (name: string) => string
  relativePathOf: (name: string) => string
}

/** Everything that providers of a run read: content of files by name, environment variables, and terraform variables that a configuration may declare. */
export type Provided = {
  files: Record<string, string>
  environment: Record<string, string>
  variables: Record<string, { default: object; aliases: Record<string, object> }>
}

type Part = {
  files: Record<string, string>
  environment: Record<string, string>
  /** The value for the default configuration or an alias in the terraform variable. A saved plan contains it: it must not depend on the agent. */
  variable: Record<string, string>
}

/**
 * Prepares the files and variables that providers document. `hasAliases`: a variable for the default configuration must not take precedence
 * over the settings of an alias.
 */
export function provide(identified: readonly Identified[], site: Site): Provided {
  const provided: Provided = { files: {}, environment: {}, variables: {} }
  for (const { credential, token } of identified) {
    const { provider, tag } = credential
    if (provider === 'token') {
      provided.environment[`TFC_WORKLOAD_IDENTITY_TOKEN${tag === undefined ? '' : `_${tag}`}`] = token
      provided.files[`tfc-token${tag === undefined ? '' : `-${tag}`}`] = token
      continue
    }
    const hasAliases = identified.some(
      ({ credential: other }) => other.provider === provider && other.tag !== undefined,
    )
    const part = partOf({ credential, token }, site, hasAliases)
    Object.assign(provided.files, part.files)
    if (tag === undefined) Object.assign(provided.environment, part.environment)
    // A type constraint requires a default, even if the configuration uses aliases only.
    const empty = Object.fromEntries(Object.keys(part.variable).map((name) => [name, '']))
    const variable = (provided.variables[`tfc_${provider}_dynamic_credentials`] ??= { default: empty, aliases: {} })
    if (tag === undefined) variable.default = part.variable
    else variable.aliases[tag] = part.variable
  }
  return provided
}

function partOf({ credential, token }: Identified, site: Site, hasAliases: boolean): Part {
  const suffix = credential.tag === undefined ? '' : `-${credential.tag}`
  const file = (name: string) => {
    const full = `${name}${suffix}`
    return { name: full, path: site.pathOf(full), relative: site.relativePathOf(full) }
  }
  switch (credential.provider) {
    case 'aws': {
      const [jwt, config] = [file('tfc-aws-token'), file('tfc-aws-shared-config')]
      const settings = {
        role_arn: credential.roleArn,
        web_identity_token_file: jwt.path,
        role_session_name: site.runId,
      }
      const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`)
      return {
        files: { [jwt.name]: token, [config.name]: `[default]\n${lines.join('')}` },
        // AWS_ROLE_ARN would take precedence over the files of aliases. The second variable is for version 1 of the SDK.
        environment: { AWS_CONFIG_FILE: config.path, AWS_SDK_LOAD_CONFIG: '1' },
        variable: { shared_config_file: config.relative },
      }
    }
    case 'gcp': {
      const [jwt, config] = [file('tfc-gcp-token'), file('tfc-google-application-credentials')]
      const { providerName, serviceAccountEmail: email } = credential
      const impersonation = `https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${email}:generateAccessToken`
      const account = {
        type: 'external_account',
        audience: `//iam.googleapis.com/${providerName}`,
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        token_url: 'https://sts.googleapis.com/v1/token',
        credential_source: { file: jwt.path, format: { type: 'text' } },
        ...(email === undefined ? {} : { service_account_impersonation_url: impersonation }),
      }
      return {
        files: { [jwt.name]: token, [config.name]: JSON.stringify(account) },
        environment: { GOOGLE_CREDENTIALS: config.path, GOOGLE_APPLICATION_CREDENTIALS: config.path },
        variable: { credentials: config.relative },
      }
    }
    case 'azure': {
      const [jwt, id] = [file('tfc-azure-token'), file('tfc-azure-client-id')]
      // The provider refuses an alias whose file differs from ARM_CLIENT_ID; versions without aliases do not read the path of a file.
      const client: Record<string, string> = hasAliases
        ? { ARM_CLIENT_ID_FILE_PATH: id.path }
        : { ARM_CLIENT_ID: credential.clientId }
      return {
        files: { [jwt.name]: token, [id.name]: credential.clientId },
        environment: { ARM_USE_OIDC: 'true', ARM_OIDC_TOKEN_FILE_PATH: jwt.path, ...client },
        variable: { client_id_file_path: id.relative, oidc_token_file_path: jwt.relative },
      }
    }
    case 'vault': {
      const [secret, ca] = [file('tfc-vault-token'), file('tfc-vault-ca.pem')]
      const { address, namespace, caCertificate } = credential
      return {
        files: { [secret.name]: token, ...(caCertificate !== undefined && { [ca.name]: caCertificate }) },
        environment: {
          VAULT_ADDR: address,
          VAULT_TOKEN: token,
          // The agent renews and revokes the token; the role need not permit child tokens.
          TERRAFORM_VAULT_SKIP_CHILD_TOKEN: 'true',
          ...(namespace !== undefined && { VAULT_NAMESPACE: namespace }),
          ...(caCertificate !== undefined && { VAULT_CACERT: ca.path }),
        },
        variable: {
          token_filename: secret.relative,
          address,
          namespace: namespace ?? '',
          ca_cert_file: caCertificate === undefined ? '' : ca.relative,
        },
      }
    }
    case 'kubernetes': {
      const jwt = file('tfc-kubernetes-token')
      return {
        files: { [jwt.name]: token },
        environment: { KUBE_TOKEN: token },
        variable: { token_path: jwt.relative },
      }
    }
    case 'hcp': {
      const [jwt, config] = [file('tfc-hcp-token'), file('tfc-hcp-credentials')]
      const workload = { provider_resource_name: credential.resourceName, file: { path: jwt.path } }
      return {
        files: { [jwt.name]: token, [config.name]: JSON.stringify({ scheme: 'workload', workload }) },
        environment: { HCP_CRED_FILE: config.path },
        variable: { credential_file: config.relative },
      }
    }
    case 'token':
      throw new Error('a token for hooks has no files')
  }
}
