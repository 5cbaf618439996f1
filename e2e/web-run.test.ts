import type { Locator, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { type Received, startReceiver } from '../server/src/testing/receiver.ts'
import { hasBrowser } from './browser.ts'
import { createGate, gatedPlan } from './gate.ts'
import { type RemoteWorkspace, remoteWorkspace, startRun } from './remote-workspaces.ts'
import { readRun, until } from './run-progress.ts'
import { cloudBlock, hasTerraform, terraformDirectory } from './terraform.ts'
import {
  accessFaults,
  bootWebServer,
  createMember,
  openAdminPage,
  openPageOf,
  overflowOf,
  PHONE,
  watchFaults,
} from './web-page.ts'

const NODES = `resource "terraform_data" "node" {
  count = 2
}
`

/** Responds to the request of a run task, as a receiver does. */
async function callBack({ payload }: Received, attributes: object, outcomes: readonly object[] = []) {
  const response = await fetch(payload.task_result_callback_url, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${payload.access_token}`, 'content-type': 'application/vnd.api+json' },
    body: JSON.stringify({
      data: { type: 'task-results', attributes, relationships: { outcomes: { data: outcomes } } },
    }),
  })
  if (!response.ok) throw new Error(`the callback was answered with ${response.status}: ${await response.text()}`)
}

/** The approval panel; a bar on a phone. */
function approvalOf(page: Page) {
  return page.getByRole('complementary', { name: 'Approval' })
}

/** The texts of the stage strip, step by step. */
async function stepTexts(page: Page) {
  const strip = page.getByRole('navigation', { name: 'Run stages' })
  return (await strip.getByRole('listitem').allTextContents()).map((text) => text.replace(/ · .*/, ''))
}

async function textOf(locator: Locator) {
  return (await locator.textContent()) ?? ''
}

describe.skipIf(!hasBrowser || !hasTerraform)('the page of a run', async () => {
  if (!hasBrowser || !hasTerraform) return
  const server = await bootWebServer({ GROUNDSTATE_CANCEL_GRACE: '1' })
  const page = await openAdminPage(server, '/app')
  const faults = watchFaults(page)

  const pathOf = ({ name }: RemoteWorkspace, run: string) => `/app/main/workspaces/${name}/runs/${run}`

  async function open(workspace: RemoteWorkspace, run: string, query = '', own = page) {
    await own.goto(`${server.url}${pathOf(workspace, run)}${query}`)
    await own.getByRole('heading', { level: 1 }).waitFor()
  }

  async function untilStatus(run: string, status: string) {
    await until(async () => (await readRun(server, run)).attributes.status === status)
  }

  /** A run that needs approval. */
  async function planned(workspace: RemoteWorkspace, attributes: object = {}) {
    const run = await startRun(server, workspace, { 'auto-apply': false, ...attributes })
    await until(async () => (await readRun(server, run)).attributes.actions['is-confirmable'])
    return run
  }

  async function attachTask(workspace: RemoteWorkspace, url: string, name: string, attributes: object) {
    const { data: task } = await server.api('POST', '/organizations/main/tasks', {
      data: { type: 'tasks', attributes: { name, url, category: 'task' } },
    })
    await server.api('POST', `/workspaces/${workspace.id}/tasks`, {
      data: {
        type: 'workspace-tasks',
        attributes,
        relationships: { task: { data: { type: 'tasks', id: task.id } } },
      },
    })
  }

  test('a run that destroys everything lists the resources and requires the name of the workspace', async () => {
    const workspace = await remoteWorkspace(server, { name: 'old', configuration: NODES })
    await untilStatus(await startRun(server, workspace), 'applied')
    const run = await planned(workspace, { 'is-destroy': true, message: 'Tear it down' })

    await open(workspace, run)
    await page.getByText('This run destroys all resources of old.').waitFor()
    const title = await page.title()
    await approvalOf(page).getByRole('button', { name: 'Confirm & apply' }).click()
    const question = approvalOf(page).getByRole('group', { name: 'Apply the plan to old?' })
    await question.getByText('terraform_data.node[1]').waitFor()
    const consequence = await textOf(question)
    // Neither the shortcut nor the button acts until the name is entered.
    await page.keyboard.press('Enter')
    await question.getByRole('button', { name: 'Confirm & apply' }).click({ force: true })
    const before = (await readRun(server, run)).attributes.status
    const axe = await accessFaults(page)
    await question.getByLabel('Type old to confirm').fill('old')
    await question.getByLabel('Comment').fill('it is replaced')
    await question.getByRole('button', { name: 'Confirm & apply' }).click()
    await approvalOf(page).getByText('2 destroyed').waitFor()
    await page.getByRole('status').getByText('Run status: applied').waitFor({ state: 'attached' })

    expect(title).toBe('old · run needs approval · Groundstate')
    expect(consequence).toContain('Destroys 2 resources')
    expect(before).toBe('planned')
    expect(axe).toEqual([])
    expect(await stepTexts(page)).toEqual(['Queuedleft the queue', 'Planplanned', 'Approvalapproved', 'Applyapplied'])
    expect(faults).toEqual([])
  })

  test('a run is discarded with a comment, and its timeline shows by whom', async () => {
    const workspace = await remoteWorkspace(server, { name: 'discarded', configuration: NODES })
    const run = await planned(workspace)

    // A link from before the workspace was renamed.
    await open({ ...workspace, name: 'former' }, run, '?part=timeline')
    await page.waitForURL(`**${pathOf(workspace, run)}?part=timeline`)
    await approvalOf(page).getByRole('button', { name: 'Discard run' }).click()
    const question = approvalOf(page).getByRole('group', { name: 'Discard this run?' })
    await question.getByLabel('Comment').fill('not today')
    await question.getByRole('button', { name: 'Discard run' }).click()
    const timeline = page.getByRole('list', { name: 'Timeline' })
    await timeline.getByText('not today').waitFor()
    await page.getByLabel('Comment').fill('perhaps tomorrow')
    await page.getByRole('button', { name: 'Add comment' }).click()
    await timeline.getByText('perhaps tomorrow').waitFor()

    expect((await readRun(server, run)).attributes.status).toBe('discarded')
    const entries = await timeline.getByRole('listitem').allTextContents()
    expect(entries.some((text) => text.startsWith('admin created the run via API'))).toBe(true)
    expect(entries.some((text) => text.startsWith('Plan finished: +2 ~0 −0'))).toBe(true)
    expect(entries.some((text) => /^admin discarded the run.*not today$/.test(text))).toBe(true)
    expect(faults).toEqual([])
  })

  test('a decision takes three tab stops, and a shortcut only opens its confirmation', async () => {
    const workspace = await remoteWorkspace(server, { name: 'keys', configuration: NODES })
    const run = await planned(workspace)
    const focused = async () => page.evaluate<string>('document.activeElement.textContent')
    const question = (title: string) => approvalOf(page).getByRole('group', { name: title })

    await open(workspace, run)
    await approvalOf(page).getByRole('button', { name: 'Confirm & apply' }).waitFor()
    const stops: string[] = []
    for (let stop = 0; stop < 3; stop += 1) {
      await page.keyboard.press('Tab')
      stops.push(await focused())
      if (stop < 2) await page.keyboard.press('Enter')
    }
    await page.keyboard.press('a')
    await question('Apply the plan to keys?').waitFor()
    // The button that submits it has the same label.
    await page.evaluate('document.activeElement.blur()')
    await page.keyboard.press('a')
    await page.getByLabel('Comment').press('Escape')
    await question('Apply the plan to keys?').waitFor({ state: 'detached' })
    await page.keyboard.press('d')
    await question('Discard this run?').waitFor()
    const comment = await page.getByLabel('Comment').inputValue()
    await page.keyboard.press('Escape')
    await question('Discard this run?').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Go to' }).fill('discard')
    await page.getByRole('option', { name: 'Discard run…' }).click()
    await question('Discard this run?').waitFor()
    await expect.poll(async () => page.getByLabel('Comment').evaluate((field) => field.matches(':focus'))).toBe(true)
    await page.keyboard.press('Escape')
    const { status } = (await readRun(server, run)).attributes

    expect(stops).toEqual(['Skip to content', 'Skip to the decision', 'Confirm & apply'])
    expect(comment).toBe('')
    expect(status).toBe('planned')
    expect(faults).toEqual([])
  })

  test('a planning run is canceled and can be re-run with the same options', async () => {
    const gate = await createGate()
    const workspace = await remoteWorkspace(server, { name: 'slow', configuration: gatedPlan(gate) })
    const run = await startRun(server, workspace, { 'auto-apply': false, 'refresh-only': true, message: 'Slowly' })
    await gate.reached

    await open(workspace, run)
    await page.getByRole('status').getByText('Run status: planning').waitFor({ state: 'attached' })
    await approvalOf(page).getByRole('button', { name: 'Cancel run' }).click()
    await approvalOf(page).getByRole('button', { name: 'Cancel run' }).click()
    await page.getByRole('status').getByText('Run status: canceled').waitFor({ state: 'attached', timeout: 30_000 })
    await page.getByText('The run was canceled').first().waitFor()
    await page.getByText('Canceled by admin').waitFor()
    await approvalOf(page).getByRole('button', { name: 'Re-run' }).click()
    const consequence = await textOf(approvalOf(page).getByRole('group'))
    await approvalOf(page).getByRole('button', { name: 'Re-run' }).click()
    await page.waitForURL((url) => !url.pathname.endsWith(run))
    gate.open()

    const again = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    expect(consequence).toContain('refresh only')
    expect((await readRun(server, again)).attributes).toMatchObject({
      message: 'Slowly',
      'refresh-only': true,
      'auto-apply': false,
    })
    expect(faults).toEqual([])
  })

  test('a saved plan of the CLI is approved in the web UI, waits for a lock and continues once it is released', async () => {
    const directory = await terraformDirectory(server, { 'main.tf': `${cloudBlock('watched')}${NODES}` })
    await directory.ok(['init', '-input=false'])
    await directory.ok(['plan', '-input=false', '-out=saved.tfplan'])
    const { data: workspace } = await server.api('GET', '/organizations/main/workspaces/watched')
    const { data: runs } = await server.api('GET', `/workspaces/${workspace.id}/runs`)
    await server.api('POST', `/workspaces/${workspace.id}/actions/lock`, { reason: 'lunch' })

    await page.goto(`${server.url}/app/main/watched/runs/${runs[0].id}`)
    await page.getByText('via CLI').waitFor()
    const kept = await textOf(approvalOf(page))
    await approvalOf(page).getByRole('button', { name: 'Confirm & apply' }).click()
    await approvalOf(page).getByRole('button', { name: 'Confirm & apply' }).click()
    const note = page.getByText('Waiting: the workspace is locked by user admin')
    const reason = await textOf(note)
    await server.api('POST', `/workspaces/${workspace.id}/actions/unlock`)
    await page.getByRole('status').getByText('Run status: applied').waitFor({ state: 'attached' })

    expect(kept).toContain('The saved plan can be applied until the state changes, and does not block other runs.')
    expect(reason).toContain('lunch')
    expect(await note.count()).toBe(0)
    expect(await textOf(approvalOf(page))).toContain('2 added')
    expect(faults).toEqual([])
  })

  test('a reader sees no buttons, but what the run waits for and who can approve it', async () => {
    const workspace = await remoteWorkspace(server, { name: 'shared', configuration: NODES })
    const run = await planned(workspace)
    const { data: team } = await server.api('POST', '/organizations/main/teams', {
      data: { type: 'teams', attributes: { name: 'operators', visibility: 'organization' } },
    })
    await server.api('POST', '/team-workspaces', {
      data: {
        type: 'team-workspaces',
        attributes: { access: 'write' },
        relationships: {
          workspace: { data: { type: 'workspaces', id: workspace.id } },
          team: { data: { type: 'teams', id: team.id } },
        },
      },
    })
    const rita = await createMember(server, 'rita', { workspaceId: workspace.id, access: 'read' })
    const own = await openPageOf(server, rita.username, pathOf(workspace, run))

    await approvalOf(own).getByText('Waiting for approval by a user who can apply runs in shared.').waitFor()
    const who = approvalOf(own).getByRole('listitem').filter({ hasText: 'operators' })
    await approvalOf(own).getByRole('heading', { name: 'Who can approve' }).waitFor()
    await who.waitFor()
    const buttons = approvalOf(own).getByRole('button')
    const visible = await buttons.filter({ visible: true }).count()

    expect(visible).toBe(0)
    expect(
      await own
        .getByRole('main')
        .getByRole('button', { name: /apply|Discard|Cancel|Re-run/ })
        .count(),
    ).toBe(0)
  })

  test('a waiting run shows its reason, with a link to the run before it', async () => {
    const workspace = await remoteWorkspace(server, { name: 'queue', configuration: NODES })
    const first = await planned(workspace, { message: 'First' })
    const second = await startRun(server, workspace, { 'auto-apply': false, message: 'Second' })

    await open(workspace, second)
    await page.getByText('Waiting: 1st in the queue behind').waitFor()
    await page.getByRole('link', { name: first }).click()
    await page.getByRole('heading', { level: 1, name: 'First' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Second' }).waitFor()
    await server.api('POST', `/runs/${first}/actions/discard`)
    await page.getByRole('status').getByText('Run status: needs approval').waitFor({ state: 'attached' })

    expect(await page.getByText('Waiting:').count()).toBe(0)
    expect(faults).toEqual([])
  })

  test('a pending task shows a countdown, and its outcomes once it calls back', async () => {
    const receiver = await startReceiver()
    const workspace = await remoteWorkspace(server, { name: 'scanned', configuration: NODES })
    await attachTask(workspace, receiver.url, 'scan', { 'enforcement-level': 'advisory', stages: ['post_plan'] })
    const run = await startRun(server, workspace, { 'auto-apply': false })
    const asked = await receiver.received(1)

    await open(workspace, run)
    const note = page.getByText('Waiting for run task scan')
    await note.waitFor()
    const left = await textOf(page.getByRole('timer').first())
    const chosen = page.getByRole('region', { name: 'Run tasks', exact: true })
    await chosen.getByText('1 request').click()
    await chosen.getByText('Attempt 1').click()
    const request = chosen.getByRole('region', { name: 'Request of attempt 1' })
    await request.getByText('"stage": "post_plan"').waitFor()
    await chosen.getByRole('button', { name: 'Redeliver' }).click()
    await receiver.received(2)
    await chosen.getByText('Attempt 2').waitFor()
    await callBack(asked, { status: 'failed', message: '1 finding', url: 'https://scan.example/1' }, [
      {
        type: 'task-result-outcomes',
        attributes: {
          'outcome-id': 'S-1',
          description: 'port 22 is open',
          body: '# Close it\n\nUse a **bastion**. <img src=x onerror=alert(1)>',
          tags: { Team: [{ label: 'network' }], Severity: [{ label: 'High', level: 'error' }] },
        },
      },
    ])
    await chosen.getByText('failed, advisory').waitFor()
    await chosen.getByText('Full text').click()
    await chosen.getByRole('heading', { name: 'Close it' }).waitFor()
    const outcome = await textOf(chosen.getByRole('list', { name: 'Outcomes' }).getByRole('listitem'))
    await approvalOf(page).getByRole('button', { name: 'Confirm & apply' }).waitFor()
    const axe = await accessFaults(page)
    await page.setViewportSize(PHONE)
    const overflow = await overflowOf(page)
    await page.setViewportSize({ width: 1440, height: 900 })

    expect(left).toMatch(/^9 min|^10 min/)
    expect(await note.count()).toBe(0)
    expect(outcome).toMatch(/High.*Team:.*network.*port 22 is open/)
    expect(await chosen.getByRole('link', { name: 'Details of scan' }).getAttribute('href')).toBe(
      'https://scan.example/1',
    )
    expect(await textOf(chosen)).toContain('Advisory: does not stop the run')
    expect(await stepTexts(page)).toContain('Post-plan tasks1 advisory failure')
    expect(axe).toEqual([])
    expect(overflow).toBe(0)
    expect(faults).toEqual([])
  })

  test('a mandatory task that fails stops the run, which a phone shows too', async () => {
    const receiver = await startReceiver()
    const workspace = await remoteWorkspace(server, { name: 'guarded', configuration: NODES })
    await attachTask(workspace, receiver.url, 'guard', { 'enforcement-level': 'mandatory', stages: ['pre_plan'] })
    const run = await startRun(server, workspace, {})
    const asked = await receiver.received(1)
    const message = `port 22 is open: ${'w'.repeat(500)}`

    await page.setViewportSize(PHONE)
    await open(workspace, run)
    await page.getByText('Waiting for run task guard').waitFor()
    await callBack(asked, { status: 'failed', message })
    await page.getByText('The mandatory task guard failed: port 22 is open').waitFor()
    const ended = await textOf(page.getByRole('main'))
    await approvalOf(page).getByRole('button', { name: 'Details' }).click()
    const decision = await textOf(approvalOf(page))
    const overflow = await overflowOf(page)
    await page.setViewportSize({ width: 1440, height: 900 })

    expect(ended).toContain('The plan and the apply never started')
    expect(decision).toContain('A mandatory task failed and can’t be overridden.')
    expect(decision).toContain('Re-run')
    expect(overflow).toBe(0)
    expect(await stepTexts(page)).toEqual([
      'Queuedleft the queue',
      'Pre-plan tasksfailed',
      'Plannot reached',
      'Approvalnot reached',
      'Applynot reached',
    ])
    expect(faults).toEqual([])
  })

  test('an action on a run that another user has decided fails with the reason, and the page is refreshed', async () => {
    const workspace = await remoteWorkspace(server, { name: 'raced', configuration: NODES })
    const run = await planned(workspace)
    const own = await openAdminPage(server, pathOf(workspace, run))
    await approvalOf(own).getByRole('button', { name: 'Confirm & apply' }).waitFor()
    // Without the stream of changes the page does not learn about others' actions.
    await own.route('**/changes*', async (route) => route.abort())
    await own.reload()
    await approvalOf(own).getByRole('button', { name: 'Confirm & apply' }).click()
    await server.api('POST', `/runs/${run}/actions/discard`)

    await approvalOf(own).getByRole('button', { name: 'Confirm & apply' }).click()
    const refusal = await textOf(approvalOf(own).getByRole('alert'))
    await approvalOf(own).getByText('The plan was not applied.').waitFor()

    expect(refusal).toContain('the run is discarded')
  })
})
