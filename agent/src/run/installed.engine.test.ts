import { expect, test } from 'vitest'
import { configuration, describeWithTerraform, startServer } from '../testing/agent-fixture.ts'
import { planned, startNotedAgent } from '../testing/noted-agent.ts'

const FILES = { 'part/main.tf': 'output "text" {\n  value = "hello"\n}\n' }
const ARCHIVE = configuration('module "part" {\n  source = "./part"\n}\n', FILES)
const FAILING = configuration(
  'module "part" {\n  source = "./part"\n}\noutput "x" {\n  value = file("missing")\n}\n',
  FILES,
)
const NOTHING = { modules: [], providers: [] }

describeWithTerraform('the parts that a plan has installed from the registry', () => {
  test('are reported after an init and after a cached one, and whether or not the plan succeeds', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)

    const first = await planned(server, agent, { configuration: ARCHIVE })
    const second = await planned(server, agent, { configuration: ARCHIVE })
    const failed = await planned(server, agent, { configuration: FAILING })

    expect(first).toMatchObject({ inits: 1, outcome: { status: 'finished', installed: NOTHING } })
    expect(second).toMatchObject({ inits: 0, outcome: { status: 'finished', installed: NOTHING } })
    expect(failed).toMatchObject({ outcome: { status: 'errored', installed: NOTHING } })
  })

  test('are not reported by a plan-only run, nor after a failed init', async () => {
    const server = await startServer()
    const agent = await startNotedAgent(server)
    const broken = configuration('module "part" {\n  source = "./missing"\n}\n')

    const planOnly = await planned(server, agent, { configuration: ARCHIVE, mayApply: false })
    const failed = await planned(server, agent, { configuration: broken })

    expect(planOnly.outcome).toMatchObject({ status: 'finished' })
    expect(failed.outcome).toMatchObject({ status: 'errored' })
    for (const { outcome } of [planOnly, failed]) expect(outcome).not.toHaveProperty('installed')
  })
})
