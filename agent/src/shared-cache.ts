import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineContext } from './context.ts'

/**
 * Opens what an init has put into the plugin cache to the other runs of the organization. The run's own user does so, who can
 * change nothing else; the engine makes directories that only their owner may write.
 */
export async function shareProviders({ agent, directory, workingDirectory }: EngineContext): Promise<void> {
  const { user, cache } = directory
  if (user === undefined) return
  // Without providers of its own the configuration has filled nothing.
  if ((await stat(join(workingDirectory, '.terraform/providers')).catch(() => undefined)) === undefined) return
  const { path } = cache
  const unshared = [path, '-user', String(user.uid), '!', '-type', 'l', '!', '-perm', '-g=rw']
  const args = [...unshared, '-exec', 'chmod', 'g+rwX', '{}', '+']
  const env = { PATH: '/usr/bin:/bin' }
  const { stdout, stderr, closed } = await agent.launcher.launch({ file: 'find', args, cwd: '/', env, user })
  for (const output of [stdout, stderr]) output.resume()
  await closed
}
