import { chmod, mkdir, readFile, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryDirectory } from './agent-fixture.ts'

export const ROLE = 'arn:aws:iam::123456789012:role/terraform'
export const CLIENT = '11111111-2222-3333-4444-555555555555'
export const POOL = 'projects/42/locations/global/workloadIdentityPools/pool/providers/runs'
export const RESOURCE = 'iam/project/p1/service-principal/runs/workload-identity-provider/groundstate'

/** Audiences of tokens by provider. */
export const AUDIENCES = {
  aws: 'aws.workload.identity',
  gcp: `//iam.googleapis.com/${POOL}`,
  azure: 'api://AzureADTokenExchange',
  kubernetes: 'kubernetes',
  hcp: RESOURCE,
  other: 'other',
  database: 'database',
}

/** The token of a phase for an audience. */
export const tokenOf = (audience: string, phase: string) =>
  `jwt.${phase}.${Buffer.from(audience).toString('base64url')}`

/** The environment variables and tokens of a job. */
export function identityOf(
  variables: Record<string, string>,
  phase: 'plan' | 'apply',
  audiences = Object.values(AUDIENCES),
) {
  const rest = { hcl: false, category: 'env' as const, sensitive: false, level: 'override' as const }
  return {
    variables: Object.entries(variables).map(([key, value]) => ({ key, value, ...rest })),
    identityTokens: audiences.map((audience) => ({ audience, token: tokenOf(audience, phase) })),
  }
}

/** Files of an agent that contain a token, and all files of identities. */
export async function identityFiles(workDir: string) {
  const paths = await filesIn(workDir)
  const texts = await Promise.all(paths.map(async (path) => readFile(join(workDir, path), 'latin1').catch(() => '')))
  return paths.filter((path, index) => /identity|tfc-/.test(path) || texts[index]?.includes('jwt.'))
}

/** A directory that the users of runs may write. */
export async function publicDirectory(): Promise<string> {
  const directory = join(await temporaryDirectory(), 'out')
  await mkdir(directory)
  await chmod(join(directory, '..'), 0o755)
  await chmod(directory, 0o777)
  return directory
}

/** Paths of all files below a directory, which may change meanwhile. */
async function filesIn(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true })
  const kinds = await Promise.all(entries.map(async (path) => stat(join(directory, path)).catch(() => undefined)))
  return entries.filter((_, index) => kinds[index]?.isFile() === true)
}
