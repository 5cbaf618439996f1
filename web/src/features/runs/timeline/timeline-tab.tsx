import { CirclePlay, MessageSquare } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { Button } from '../../../components/button.tsx'
import { ErrorNote } from '../../../components/feedback.tsx'
import { TextArea } from '../../../components/form.tsx'
import { toast } from '../../../components/overlay-hosts.tsx'
import { TONE_TEXT } from '../../../components/status.tsx'
import { RelativeTime } from '../../../components/time.tsx'
import { type RunDocument, useAddComment } from '../run.ts'
import { STEP_STYLE } from '../stage-strip.tsx'
import { type TimelineEntry, timelineEntries } from './timeline.ts'

export function TimelineTab({ document }: { document: RunDocument }) {
  const { run } = document
  return (
    <div className="rounded-lg border border-line bg-paper p-4">
      <ol aria-label="Timeline" className="space-y-3">
        {timelineEntries(document).map((entry) => (
          <Entry key={entry.id} entry={entry} />
        ))}
      </ol>
      {run.attributes.permissions['can-comment'] && <CommentForm runId={run.id} />}
    </div>
  )
}

/** A past start has its own icon instead of a spinner. */
const ENTRY_STYLE = {
  ...STEP_STYLE,
  running: { tone: 'busy', icon: CirclePlay },
  comment: { tone: 'accent', icon: MessageSquare },
} as const

function Entry({ entry: { at, state, author, text, description, comment } }: { entry: TimelineEntry }) {
  const { tone, icon: Icon } = ENTRY_STYLE[state]
  return (
    <li className="flex gap-3">
      <Icon size={16} className={`mt-0.5 shrink-0 ${TONE_TEXT[tone]}`} />
      <div className="min-w-0 flex-1">
        <p className="flex flex-wrap gap-x-3">
          <span className="min-w-0 flex-1">
            {author !== undefined && <span className="font-medium">{author} </span>}
            {text}
          </span>
          <span className="text-dim">
            <RelativeTime at={at} />
          </span>
        </p>
        {description !== undefined && <p className="whitespace-pre-line text-dim">{description}</p>}
        {comment !== undefined && (
          <p className="mt-1 rounded-md border border-line bg-ground px-3 py-2 whitespace-pre-line">{comment}</p>
        )}
      </div>
    </li>
  )
}

function CommentForm({ runId }: { runId: string }) {
  const add = useAddComment(runId)
  const [text, setText] = useState('')

  function submit(event: FormEvent) {
    event.preventDefault()
    if (add.isPending || text.trim() === '') return
    add.mutate(text.trim(), {
      onSuccess: () => {
        setText('')
        toast({ text: 'Comment added' })
      },
    })
  }

  return (
    <form onSubmit={submit} className="mt-4 max-w-2xl space-y-2 border-t border-line pt-4">
      <TextArea
        label="Comment"
        rows={3}
        maxLength={10_000}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      {add.error && <ErrorNote error={add.error} />}
      <Button type="submit" isPending={add.isPending} reason={text.trim() === '' ? 'enter a comment first' : undefined}>
        Add comment
      </Button>
    </form>
  )
}
