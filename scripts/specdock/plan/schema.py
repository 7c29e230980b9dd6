"""The JSON schema of a study file: the pydantic models, with arms as they are written."""

from specdock.plan.models import Study


def study_schema() -> dict:
    """Schema of config/studies/*.yaml for editors.

    A written arm is partial (defaults and bases complete it) and may extend and sweep; a written
    study has `defaults`. The loader refuses what remains incomplete.
    """
    schema = Study.model_json_schema()
    arm = schema["$defs"]["Arm"]
    arm["required"] = []
    partial = {name: value for name, value in arm["properties"].items()}
    arm["properties"] = {
        "extends": {"type": "string", "description": "arm whose keys lie under these"},
        "sweep": {
            "type": "object",
            "description": "dotted keys, each with a list: one arm for every combination",
            "additionalProperties": {"type": "array", "minItems": 1},
        },
        **partial,
    }
    schema["properties"]["extends"] = {"type": "string", "description": "study laid under this"}
    schema["required"] = []
    schema["properties"]["defaults"] = {
        "$ref": "#/$defs/Arm",
        "description": "laid under every arm",
    }
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema
