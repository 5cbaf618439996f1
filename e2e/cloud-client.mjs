/*
 * Exchanges the identity of a run as the SDKs of providers do, at stand-ins in place of the services. Prints a line for each service: the
 * subject that it knows, or the reason of its refusal.
 */
import { readFileSync } from 'node:fs'

const { env } = process
const standIns = env.STAND_INS
const read = (path) => readFileSync(path, 'utf8')

async function post(url, body, headers = {}) {
  const isForm = body instanceof URLSearchParams
  const content = isForm ? {} : { 'content-type': 'application/json' }
  const text = isForm ? body : JSON.stringify(body)
  const response = await fetch(url, { method: 'POST', body: text, headers: { ...content, ...headers } })
  const answer = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${answer}`)
  return answer
}

/** The default profile of the AWS configuration. */
async function aws(path = env.AWS_CONFIG_FILE) {
  const profile = Object.fromEntries(
    read(path)
      .split('\n')
      .filter((line) => line.includes('='))
      .map((line) => line.split('=').map((part) => part.trim())),
  )
  const form = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: profile.role_arn,
    RoleSessionName: profile.role_session_name,
    WebIdentityToken: read(profile.web_identity_token_file),
  })
  const answer = await post(`${standIns}/aws/`, form)
  return /<SubjectFromWebIdentityToken>([^<]*)</.exec(answer)[1]
}

/** Application default credentials: a token exchange, then the access token of the service account. */
async function gcp(path = env.GOOGLE_APPLICATION_CREDENTIALS) {
  const account = JSON.parse(read(path))
  const at = (url) => url.replace(/^https:\/\/(sts|iamcredentials)\.googleapis\.com/, `${standIns}/gcp`)
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    audience: account.audience,
    scope: 'https://www.googleapis.com/auth/cloud-platform',
    subject_token_type: account.subject_token_type,
    subject_token: read(account.credential_source.file),
  })
  const { access_token } = JSON.parse(await post(at(account.token_url), form))
  const scope = ['https://www.googleapis.com/auth/cloud-platform']
  const headers = { authorization: `Bearer ${access_token}` }
  await post(at(account.service_account_impersonation_url), { scope }, headers)
  return 'accepted'
}

async function azure() {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: env.ARM_CLIENT_ID,
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: read(env.ARM_OIDC_TOKEN_FILE_PATH),
    scope: 'https://management.azure.com/.default',
  })
  await post(`${standIns}/azure/${env.ARM_TENANT_ID}/oauth2/v2.0/token`, form)
  return env.ARM_USE_OIDC === 'true' ? 'accepted' : 'without ARM_USE_OIDC'
}

/** The agent has logged in. */
async function vault() {
  const answer = await post(`${env.VAULT_ADDR}/v1/auth/token/lookup-self`, {}, { 'x-vault-token': env.VAULT_TOKEN })
  return JSON.parse(answer).data.subject
}

async function kubernetes() {
  const headers = { authorization: `Bearer ${env.KUBE_TOKEN}` }
  return JSON.parse(await post(`${standIns}/kubernetes`, {}, headers)).status.userInfo.username
}

async function hcp() {
  const { workload } = JSON.parse(read(env.HCP_CRED_FILE))
  const url = `${standIns}/hcp/2019-12-10/${workload.provider_resource_name}/exchange-token`
  await post(url, { jwt_token: read(workload.file.path) })
  return 'accepted'
}

for (const exchange of [aws, gcp, azure, vault, kubernetes, hcp]) {
  const outcome = await exchange().catch((error) => `refused: ${error.message}`)
  process.stdout.write(`${exchange.name}: ${outcome}\n`)
}
if (env.ALIAS !== undefined) {
  const outcome = await aws(env.ALIAS).catch((error) => `refused: ${error.message}`)
  process.stdout.write(`alias: ${outcome}\n`)
}
