import { useState } from 'react'
import { Dialog } from '../../components/dialog.tsx'
import { TabBar, type TabLinkProps } from '../../components/tabs.tsx'
import { CommandGuide } from './command-guide.tsx'
import { FileImport } from './file-import.tsx'
import type { ImportProps } from './import-state.ts'

const WAYS = {
  file: 'One state file',
  server: 'From another server',
  backend: 'From another backend',
} as const
type Way = keyof typeof WAYS

/** Imports states: one file in the browser; the commands for many states and other sources. */
export default function ImportDialog(props: ImportProps) {
  const [way, setWay] = useState<Way>('file')
  const tabs = (Object.keys(WAYS) as Way[]).map((name) => ({
    text: WAYS[name],
    render: ({ className, children }: TabLinkProps) => (
      <button
        type="button"
        className={`cursor-pointer ${className}`}
        aria-current={name === way ? 'true' : undefined}
        onClick={() => setWay(name)}
      >
        {children}
      </button>
    ),
  }))
  return (
    <Dialog
      title="Import state"
      about="Takes over resources that Terraform or OpenTofu already manages elsewhere."
      isOpen
      onClose={props.onClose}
      width="max-w-2xl"
    >
      <div className="space-y-4">
        <TabBar label="Source of the state" tabs={tabs} />
        {way === 'file' ? <FileImport {...props} /> : <CommandGuide key={way} source={way} {...props} />}
      </div>
    </Dialog>
  )
}
