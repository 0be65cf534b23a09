"""Small true files of other tools: one for each importer that reads JSON, as (file name, value)."""

from __future__ import annotations

from typing import Any

__all__ = ["FILES"]

ASPECTS = ("Understandable", "Natural", "Maintains Context", "Engaging", "Uses Knowledge", "Overall")
MESSAGES = [{"role": "user", "content": "?"}, {"role": "assistant", "content": r"\boxed{5}"}]
SOLUTION = {
    "solution": r"\boxed{5}",
    "score": {"logic_score": 9.0, "computation_score": 8.0, "critique": "ok"},
}
SWAPS = {
    order: {"winner": "1", "completion": ["Output (a)", "stop"]} for order in ("swap = False", "swap = True")
}
PAIR = {
    "idx": 0,
    "instruction": "Do",
    "input": "it",
    "cmp_key": "a_b",
    **{f"annotator{i}": 1 for i in (1, 2, 3)},
}
METRICS = {"judge_property_accuracy": 0.5, "judge_rule_accuracy": 0.5, "decision_quality": 1}

FILES: dict[str, tuple[str, Any]] = {
    "gsm-nested": ("a.json", {"Q": [[MESSAGES, MESSAGES], "#### 5"]}),
    "slm-multiagent": ("mmlu_M_persona_a+b_agents2_rounds1.json", {"Q": [[MESSAGES, MESSAGES], "A"]}),
    "critic-actor": (
        "a_critic_actor.json",
        {"Q": {"ground_truth": "#### 5", "all_rounds_data": [[SOLUTION]]}},
    ),
    "eot": ("Sample_CSQA_EoT_m.jsonl", {"question": "Q", "answer": "A", "response_list": ["(A)", "(B)"]}),
    "mad": (
        "0.json",
        {
            "model_name": "m",
            "source": "S",
            "debate translation": "T",
            "players": dict.fromkeys(["Affirmative side", "Negative side", "Moderator", "Judge"], MESSAGES),
        },
    ),
    "llmbar": ("Natural__J__Vanilla.json", [{"input": "Q", "label": 1, "results": [SWAPS]}]),
    "pandalm": ("testset-v1.json", [PAIR]),
    "prd": (
        "ratings-gpt4/answer_a-vs-answer_b-gpt4-reviewer.jsonl",
        {"question_id": 1, "score": 1, "text": "T"},
    ),
    "judgebench": (
        "a.jsonl",
        {
            "pair_id": "p",
            "original_id": 7,
            "source": "mmlu",
            "question": "Q",
            "label": "A>B",
            "response_A": "a",
            "response_B": "b",
            "judgments": [
                {"judgment": {"judge_model": "m", "response": "T"}, "decision": "A>B"},
                {"judgment": {"judge_model": "m", "response": "T"}, "decision": "A=B"},
            ],
        },
    ),
    "topical-chat": (
        "tc_usr_data.json",
        [
            {
                "context": "Hi?",
                "fact": "F",
                "responses": [
                    {
                        "response": "So.",
                        "model": "M",
                        **{name: [1, 2] for name in ASPECTS},
                    }
                ],
            }
        ],
    ),
    "truthification": (
        "game_1.json",
        {
            "config": {"seed": 1, "oracle_budget": 2, "observer_model": "m", "agent_model": "m"},
            "rounds": [{"agent_statements": [{"agent_id": "A", "text": "T"}], "round_metrics": METRICS}],
            "metrics": {"selection_accuracy": 0.5},
        },
    ),
    "mt-bench": (
        "j_pair.jsonl",
        {
            "question_id": 1, "model_1": "a", "model_2": "b", "g1_winner": "tie", "g2_winner": "model_1",
            "judge": ["j", "p"], "turn": 1, "g1_judgment": "T", "g2_judgment": "T",
        },
    ),
    "alpaca-eval": (
        "annotations.json",
        [
            {
                "instruction": "Q", "output_1": "x", "output_2": "y", "generator_1": "a", "generator_2": "b",
                "annotator": "j", "preference": 1.5, "dataset": "d", "is_switched_outputs": True,
            }
        ],
    ),
    "arena-hard": (
        "m.jsonl",
        {
            "uid": 1, "model": "m", "baseline": "b", "judge": "j", "category": "c",
            "games": [{"score": "A>>B", "judgment": {"answer": "T"}}, {"score": None, "judgment": "T"}],
        },
    ),
    "lm-eval": (
        "samples_x.jsonl",
        {
            "doc_id": 1, "target": "18", "filtered_resps": ["18"], "resps": [["18"]], "filter": "f",
            "metrics": ["acc"], "acc": 1.0, "arguments": {"gen_args_0": {"arg_0": "Q"}},
        },
    ),
    "promptfoo": (
        "r.json",
        {
            "results": {
                "results": [
                    {
                        "testIdx": 0, "promptIdx": 0, "provider": {"id": "p"}, "prompt": {"raw": "Q"}, "vars": {"x": 1},
                        "gradingResult": {
                            "componentResults": [
                                {"score": 1, "pass": True, "reason": "T", "assertion": {"type": "t", "metric": "m"}}
                            ]
                        },
                    }
                ]
            }
        },
    ),
    "deepeval": (
        "d.json",
        {
            "testCases": [
                {
                    "name": "c", "input": "Q",
                    "metricsData": [{"name": "m", "score": 0.5, "success": True, "reason": "T"}],
                }
            ]
        },
    ),
    "langfuse": (
        "s.json",
        {
            "data": [
                {
                    "id": "1", "traceId": "t", "observationId": "o", "name": "n", "dataType": "NUMERIC", "value": 1.5,
                    "stringValue": None, "source": "ANNOTATION", "authorUserId": "u", "comment": "T",
                }
            ]
        },
    ),
    "langsmith": (
        "f.json",
        [
            {
                "id": "1", "run_id": "r", "key": "k", "score": 1.0, "value": "good", "comment": "T",
                "feedback_source": {"type": "app", "user_id": "u"},
            }
        ],
    ),
    "otel": (
        "e.json",
        {
            "resourceLogs": [
                {
                    "scopeLogs": [
                        {
                            "logRecords": [
                                {
                                    "eventName": "gen_ai.evaluation.result", "traceId": "t", "spanId": "s",
                                    "attributes": [
                                        {"key": "gen_ai.evaluation.name", "value": {"stringValue": "n"}},
                                        {"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": 1.5}},
                                    ],
                                }
                            ]
                        }
                    ]
                }
            ]
        },
    ),
    "chateval": (
        "t.json",
        [
            {"question_id": k, "question": "Q", "response": {"a": "x", "b": "y"}, "category": "c"} for k in (1, 2)
        ],
    ),
}  # fmt: skip
