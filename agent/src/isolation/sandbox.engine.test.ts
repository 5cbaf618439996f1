import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { configuration, describeWithTerraform, scripted, startAgent, startServer } from '../testing/agent-fixture.ts'
import { processIsAlive } from '../testing/processes.ts'

const works = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-pid', 'true']).status === 0
if (!works) process.stderr.write('\nNO WORKING BUBBLEWRAP: the tests of the sandbox are SKIPPED.\n\n')
const describeWithSandbox = works ? describeWithTerraform : describe.skip

/** Plans only; the test submits the apply. */
async function planned(server: Awaited<ReturnType<typeof startServer>>, archive: Buffer) {
  const plan = server.submit({ configuration: archive })
  expect(await plan.finished).toMatchObject({ status: 'finished' })
  return server.submit({ kind: 'apply', runId: plan.runId, configuration: archive })
}

describeWithSandbox.each(['auto', 'off'] as const)('a run in a sandbox, with isolation %s', (isolation) => {
  test('sees only its own processes, directory and cache', async () => {
    const server = await startServer()
    const { workDir } = await startAgent(server, { sandbox: true, isolation })
    const script = `echo processes: $(ls /proc | grep -c '^[0-9]')
echo temporary: $(ls -A /tmp | grep -v gs-agent)
echo work: $(ls -A ${workDir})
echo runs: $(ls ${workDir}/runs | wc -l)
touch /etc/planted || touch /usr/planted || echo read-only
ls ${workDir}/agent*.pid || echo no claim
mount -o remount,rw,bind / || echo not remounted
grep CapEff /proc/self/status
touch "$TF_PLUGIN_CACHE_DIR/mine" && touch mine && touch "$HOME/mine" && touch "$TMPDIR/mine" && echo own directories
`

    const apply = await planned(server, scripted(script))

    expect(await apply.finished).toMatchObject({ status: 'finished' })
    const log = apply.log()
    expect(Number(/processes: (\d+)/.exec(log)?.[1])).toBeLessThan(12)
    expect(log).toMatch(/temporary:\s/)
    expect(log).toMatch(/work: (plugins runs|runs plugins)/)
    expect(log).toContain('runs: 1')
    for (const line of ['read-only', 'no claim', 'not remounted', 'CapEff:\t0000000000000000', 'own directories'])
      expect(log).toContain(line)
  })

  test('can be interrupted: the engine stores the state', async () => {
    const server = await startServer()
    await startAgent(server, { sandbox: true, isolation })
    const archive = configuration(`
resource "terraform_data" "quick" { input = "kept" }
resource "terraform_data" "slow" {
  depends_on = [terraform_data.quick]
  provisioner "local-exec" { command = "echo pid of sleep: $$; exec sleep 100" }
}
`)
    const apply = await planned(server, archive)
    await apply.logged(/pid of sleep: \d+/)

    apply.command('cancel')

    expect(await apply.finished).toMatchObject({ status: 'canceled' })
    expect(apply.log()).toContain('Interrupt received')
    expect(server.api.current()?.resources.map(({ name }) => name)).toContain('quick')
  })

  test('is killed with all its processes', async () => {
    const server = await startServer()
    await startAgent(server, { sandbox: true, isolation })
    const apply = await planned(server, scripted('setsid sleep 4242 >/dev/null 2>&1 & sleep 0.3; exit 1'))

    expect(await apply.finished).toMatchObject({ status: 'errored' })

    const sleepers = spawnSync('pgrep', ['-f', 'sleep 4242']).stdout.toString().trim().split('\n').filter(Boolean)
    expect(apply.log()).toContain('local-exec')
    expect(sleepers.map(Number).filter(processIsAlive)).toEqual([])
  })
})

test('an agent with a sandbox does not start without bubblewrap', async () => {
  const server = await startServer()
  const path = process.env['PATH']
  process.env['PATH'] = join(import.meta.dirname, 'nowhere')
  try {
    const { ended } = await startAgent(server, { sandbox: true })

    await expect(ended).rejects.toThrow('the sandbox needs the program bwrap, which is not on the PATH')
  } finally {
    process.env['PATH'] = path
  }
})
