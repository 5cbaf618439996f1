# A first configuration that needs no account anywhere: terraform_data is built into the engine.
terraform {
  cloud {
    # The server is the one of `groundstate exec`. Without exec, name it: hostname = "groundstate.example.com"
    organization = "main"

    workspaces {
      name = "hello"
    }
  }
}

variable "name" {
  type    = string
  default = "world"
}

resource "terraform_data" "greeting" {
  input = "hello, ${var.name}"
}

output "greeting" {
  value = terraform_data.greeting.output
}
