import { expect, test } from 'vitest'
import { pendingTasks, type Task, type WorkspaceTask } from './workspace-tasks.ts'

function task(id: string, { stages = [], level = 'advisory', enabled = true }: Partial<Parts> = {}) {
  const everywhere = { enabled: stages.length > 0, stages, 'enforcement-level': level }
  return { id, attributes: { name: id, enabled, 'global-configuration': everywhere } } as unknown as Task
}
type Parts = { stages: string[]; level: string; enabled: boolean }

function attachment(id: string, stages: string[], level: string) {
  const relationships = { task: { data: { id } } }
  return { attributes: { stages, 'enforcement-level': level }, relationships } as unknown as WorkspaceTask
}

function at(stage: string, ...[tasks, attachments]: Parameters<typeof pendingTasks>) {
  return pendingTasks(tasks, attachments)
    .filter((found) => found.stage === stage)
    .flatMap(({ asked }) => asked.map((found) => `${found.task.id} ${found.level}`))
}

test('a stage asks the tasks that are attached for it, and those of all workspaces', () => {
  const tasks = [task('scan'), task('cost'), task('policy', { stages: ['post_plan'] })]

  expect(at('post_plan', tasks, [attachment('scan', ['pre_plan', 'post_plan'], 'mandatory')])).toEqual([
    'scan mandatory',
    'policy advisory',
  ])
})

test('of two levels of a task the stricter one counts', () => {
  const tasks = [task('policy', { stages: ['pre_apply'], level: 'mandatory' })]

  expect(at('pre_apply', tasks, [attachment('policy', ['pre_apply'], 'advisory')])).toEqual(['policy mandatory'])
})

test('a task that is switched off is not asked', () => {
  const tasks = [task('scan', { enabled: false })]

  expect(at('pre_plan', tasks, [attachment('scan', ['pre_plan'], 'advisory')])).toEqual([])
})
