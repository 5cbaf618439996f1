import { Link } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { Card, DescriptionList } from '../../components/card.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { useDeleteAndLeave } from '../../components/delete-and-leave.ts'
import { SettingsForm, useDraft } from '../../components/settings-form.tsx'
import { DELETION, RUN_TASKS, attachedReason, taskRoute, useUpdateTask } from './run-tasks.ts'
import { GLOBAL_POINTER, GeneralFields, GlobalFields, POOL_POINTER, ReceiverFields } from './task-fields.tsx'
import { type TaskValues, taskBody, taskValues } from './task-form.ts'
import { LEVELS, STAGES, STAGE_NAMES, type Task, everywhereOf } from './workspace-tasks.ts'

type SettingsProps = { task: Task; pool: string | undefined; mayManage: boolean }

export default function TaskSettings({ task, pool, mayManage }: SettingsProps) {
  if (!mayManage) return <ReadOnly task={task} pool={pool} />
  return (
    <div className="max-w-4xl space-y-4">
      <General task={task} />
      <Receiver task={task} />
      {task.attributes['global-configuration'] !== null && <Global task={task} />}
      <Deletion task={task} />
    </div>
  )
}

/** A draft of some values of the task, and a function that saves it. */
function useTaskDraft<Name extends keyof TaskValues>(task: Task, names: readonly Name[]) {
  const { organization } = taskRoute.useParams()
  const update = useUpdateTask(organization)
  const values = taskValues(task)
  const picked = Object.fromEntries(names.map((name) => [name, values[name]])) as Pick<TaskValues, Name>
  const draft = useDraft(picked)
  const save = async () =>
    update.mutateAsync({
      id: task.id,
      ...taskBody(draft.changed, { ...values, ...draft.values }),
    })
  return [draft, save] as const
}

function General({ task }: { task: Task }) {
  const [draft, save] = useTaskDraft(task, ['name', 'description'])
  return (
    <SettingsForm title="General" names={['name', 'description']} draft={draft} onSave={save}>
      <GeneralFields draft={draft} />
    </SettingsForm>
  )
}

function Receiver({ task }: { task: Task }) {
  const { organization } = taskRoute.useParams()
  const [draft, save] = useTaskDraft(task, ['url', 'key', 'isKeyRemoved', 'certificate', 'poolId'])
  return (
    <SettingsForm
      title="Receiver"
      about="Changes are verified when you save: the receiver must respond to a test request with 200."
      names={['url', 'hmac-key', 'ca-certificate', POOL_POINTER]}
      draft={draft}
      onSave={save}
    >
      <ReceiverFields organization={organization} draft={draft} hasKey={task.attributes['has-hmac-key']} />
    </SettingsForm>
  )
}

function Global({ task }: { task: Task }) {
  const [draft, save] = useTaskDraft(task, ['isGlobal', 'level', ...STAGE_NAMES])
  return (
    <SettingsForm title="All workspaces" names={[GLOBAL_POINTER]} draft={draft} onSave={save}>
      <GlobalFields draft={draft} />
    </SettingsForm>
  )
}

function Deletion({ task }: { task: Task }) {
  const { organization } = taskRoute.useParams()
  const remove = useDeleteAndLeave()
  const { name } = task.attributes
  const reason = attachedReason(task)

  return (
    <Card
      title="Delete run task"
      tone="bad"
      about={
        reason === undefined ? (
          DELETION
        ) : (
          <>
            It is {reason.replace(': detach it first', '')}.{' '}
            <Link
              to="/app/$organization/run-tasks/$task"
              params={{ organization, task: task.id }}
              search={{ tab: 'attachments' }}
              className="text-accent underline"
            >
              Detach it there
            </Link>{' '}
            first.
          </>
        )
      }
    >
      <Confirm
        label="Delete run task"
        icon={Trash2}
        reason={reason}
        title={`Delete ${name}?`}
        consequence={DELETION}
        action={`Delete ${name}`}
        onConfirm={async () =>
          remove({
            path: `/tasks/${task.id}`,
            name: `Run task ${name}`,
            target: { to: '/app/$organization/run-tasks', params: { organization } },
            own: [RUN_TASKS, organization, task.id],
            affected: [
              [RUN_TASKS, organization, 'list'],
              ['tasks', organization],
            ],
          })
        }
      />
    </Card>
  )
}

function ReadOnly({ task, pool }: Omit<SettingsProps, 'mayManage'>) {
  const { attributes } = task
  const { enabled, stages, 'enforcement-level': level } = everywhereOf(task)
  return (
    <Card title="Settings" about="Changing them requires the permission to manage run tasks.">
      <DescriptionList
        facts={[
          ['Description', attributes.description],
          ['URL', <code key="url">{attributes.url}</code>],
          ['HMAC key', attributes['has-hmac-key'] ? 'set' : 'none: requests are not signed'],
          ['Sent by', pool === undefined ? 'This server' : `Agent pool ${pool}`],
          [
            'All workspaces',
            enabled
              ? `${stages.map((stage) => STAGES[stage].text).join(', ')}, ${LEVELS[level].text.toLowerCase()}`
              : 'No',
          ],
        ]}
      />
    </Card>
  )
}
