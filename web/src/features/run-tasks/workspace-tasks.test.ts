import { expect, test } from 'vitest'
import { type Task, type WorkspaceTask, tasksByStage } from './workspace-tasks.ts'

function task(id: string, { stages = [], level = 'advisory', enabled = true }: Partial<Parts> = {}) {
  const everywhere = { enabled: stages.length > 0, stages, 'enforcement-level': level }
  return { id, attributes: { name: id, enabled, 'global-configuration': everywhere } } as unknown as Task
}
type Parts = { stages: string[]; level: string; enabled: boolean }

function attachment(id: string, stages: string[], level: string) {
  const relationships = { task: { data: { id } } }
  return { attributes: { stages, 'enforcement-level': level }, relationships } as unknown as WorkspaceTask
}

function at(stage: string, ...[tasks, attachments]: Parameters<typeof tasksByStage>) {
  const match = tasksByStage(tasks, attachments).find((entry) => entry.stage === stage)
  return match?.tasks.map((entry) => `${entry.task.id} ${entry.level}`)
}

test('a stage has the tasks attached to it and the global ones', () => {
  const tasks = [task('scan'), task('cost'), task('policy', { stages: ['post_plan'] })]

  expect(at('post_plan', tasks, [attachment('scan', ['pre_plan', 'post_plan'], 'mandatory')])).toEqual([
    'scan mandatory',
    'policy advisory',
  ])
})

test('the stricter of two levels of a task wins', () => {
  const tasks = [task('policy', { stages: ['pre_apply'], level: 'mandatory' })]

  expect(at('pre_apply', tasks, [attachment('policy', ['pre_apply'], 'advisory')])).toEqual(['policy mandatory'])
})

test('a disabled task is left out', () => {
  const tasks = [task('scan', { enabled: false })]

  expect(at('pre_plan', tasks, [attachment('scan', ['pre_plan'], 'advisory')])).toEqual([])
})

test('a task of a plan without global tasks has only its attachments', () => {
  const local = {
    id: 'scan',
    attributes: { name: 'scan', enabled: true, 'global-configuration': null },
  } as unknown as Task

  expect(at('pre_plan', [local], [attachment('scan', ['pre_plan'], 'advisory')])).toEqual(['scan advisory'])
  expect(at('post_plan', [local], [])).toEqual([])
})
