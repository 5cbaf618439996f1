import { type ReactNode, useId } from 'react'
import { Button } from './button.tsx'
import { Dialog, type DialogProps } from './dialog.tsx'

type FormDialogProps = Pick<DialogProps, 'title' | 'about' | 'onClose'> & {
  /** The label of the button that submits the form. */
  action: string
  isPending: boolean
  onSubmit: (form: HTMLFormElement) => void
  children: ReactNode
}

/** An open dialog with a form. Enter does not submit it again while a request is pending. */
export function FormDialog({ action, isPending, onSubmit, children, ...dialog }: FormDialogProps) {
  const id = useId()
  return (
    <Dialog
      {...dialog}
      isOpen
      footer={
        <>
          <Button label="Cancel" onClick={dialog.onClose} />
          <Button label={action} type="submit" form={id} kind="primary" isPending={isPending} />
        </>
      }
    >
      <form
        id={id}
        onSubmit={(event) => {
          event.preventDefault()
          if (!isPending) onSubmit(event.currentTarget)
        }}
        className="space-y-4"
      >
        {children}
      </form>
    </Dialog>
  )
}
