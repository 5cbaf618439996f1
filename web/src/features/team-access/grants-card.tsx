import { Pencil, Plus, UserMinus } from 'lucide-react'
import type { ReactNode } from 'react'
import { Card, CardList } from '../../components/card.tsx'
import { usePickedForm, useRowForm } from '../../components/inline-form.tsx'
import { Picker } from '../../components/picker.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { Badge } from '../../components/status.tsx'
import type { AccessFormProps } from './access-forms.tsx'
import {
  type Grant,
  type GrantAttributes,
  type GrantKind,
  type GrantSubject,
  findOtherTeams,
  removeGrant,
  useSaveGrant,
} from './grants.ts'
import { TeamLink } from './team-link.tsx'

type GrantsCardProps<Kind extends GrantKind> = {
  organization: string
  subject: GrantSubject & { kind: Kind }
  title: string
  about?: string
  none: string
  grants: readonly Grant<Kind>[]
  mayManage: boolean
  levelOf: (attributes: GrantAttributes<Kind>) => string
  textOf: (attributes: GrantAttributes<Kind>) => string
  /** Other sources of access that a removed team may keep. */
  remaining: string
  renderForm: (form: AccessFormProps<GrantAttributes<Kind>>) => ReactNode
}

/** The teams with access to a workspace or a project: listed, added, changed and removed. */
export function GrantsCard<Kind extends GrantKind>(props: GrantsCardProps<Kind>) {
  const { organization, subject, grants, mayManage } = props
  const { selected, select, place, close } = usePickedForm()
  const save = useSaveGrant(subject)
  const ids = new Set(grants.map(({ teamId }) => teamId))
  const add = mayManage && !selected && (
    <div ref={place}>
      <Picker
        label="Add team"
        icon={Plus}
        size="small"
        placeholder="Team name"
        about={['teams', organization, 'without access to', subject.id, ids.size]}
        load={async (...search) => findOtherTeams(organization, ids, search)}
        onChoose={select}
      />
    </div>
  )
  return (
    <Card title={props.title} about={props.about} isFlush actions={add}>
      {selected && (
        <div className="border-t border-line px-4 py-3">
          <h3 className="mb-3 font-medium">{selected.text}</h3>
          {props.renderForm({
            saved: undefined,
            action: `Add ${selected.text}`,
            mutation: save,
            onCancel: () => close(),
            onSubmit: (attributes) =>
              save.mutate({ teamId: selected.value, attributes }, { onSuccess: () => close(`${selected.text} added`) }),
          })}
        </div>
      )}
      {(grants.length > 0 || !selected) && (
        <CardList items={grants} none={props.none}>
          {(grant) => <GrantRow key={grant.id} grant={grant} {...props} />}
        </CardList>
      )}
    </Card>
  )
}

function GrantRow<Kind extends GrantKind>({ grant, ...props }: GrantsCardProps<Kind> & { grant: Grant<Kind> }) {
  const { subject, mayManage } = props
  const { id, team, attributes } = grant
  const { isOpen, open, close, place } = useRowForm()
  const save = useSaveGrant(subject)
  return (
    <li className="space-y-3 px-4 py-3">
      <div className="flex flex-wrap items-start gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1">
          <h3 className="flex flex-wrap items-center gap-2 font-medium">
            <TeamLink organization={props.organization} id={grant.teamId} name={team} />{' '}
            <Badge text={props.levelOf(attributes)} />
          </h3>
          <p className="text-dim">{props.textOf(attributes)}</p>
        </div>
        {mayManage && !isOpen && (
          <div ref={place}>
            <RowMenu
              label={`Actions for ${team}`}
              actions={[
                { text: 'Edit access', icon: Pencil, onSelect: open },
                {
                  text: 'Remove',
                  icon: UserMinus,
                  confirm: {
                    title: `Remove ${team} from ${subject.name}?`,
                    consequence: props.remaining,
                    action: `Remove ${team}`,
                    done: `${team} removed`,
                    onConfirm: async () => removeGrant(subject, id),
                  },
                },
              ]}
            />
          </div>
        )}
      </div>
      {isOpen &&
        props.renderForm({
          saved: attributes,
          action: 'Save',
          mutation: save,
          onCancel: () => close(),
          onSubmit: (changes) =>
            save.mutate({ id, attributes: changes }, { onSuccess: () => close(`Access of ${team} saved`) }),
        })}
    </li>
  )
}
